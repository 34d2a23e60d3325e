#include "server/services/device_service.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/convert/device_to_proto.h"
#include "server/convert/spec_from_proto.h"
#include "server/services/unary_answer.h"

namespace memplan {
namespace {

using SnapshotOr = absl::StatusOr<std::shared_ptr<const DeviceSnapshot>>;

void FillList(const DeviceSnapshot& snapshot,
              v1::ListDevicesResponse& response) {
  for (const Device& device : snapshot.devices) {
    *response.add_devices() = ToProto(device);
  }
  response.set_gpu_absence_reason(snapshot.gpu_absence_reason);
}

}  // namespace

grpc::ServerUnaryReactor* DeviceService::ListDevices(
    grpc::CallbackServerContext* context,
    const v1::ListDevicesRequest* /*request*/,
    v1::ListDevicesResponse* response) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) {
    devices_.WhenRead("", kFirstReadingPatience,
                      [answer, response](const SnapshotOr& snapshot) {
                        answer.Finish([&] {
                          if (snapshot.ok()) FillList(**snapshot, *response);
                          return snapshot.status();
                        });
                      });
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* DeviceService::GetDevice(
    grpc::CallbackServerContext* context, const v1::GetDeviceRequest* request,
    v1::GetDeviceResponse* response) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) {
    devices_.WhenRead(
        request->id(), kFirstReadingPatience,
        [answer, request, response](const SnapshotOr& snapshot) {
          answer.Finish([&]() -> absl::Status {
            if (!snapshot.ok()) return snapshot.status();
            const Device* device = FindDevice(**snapshot, request->id());
            if (device == nullptr) {
              return NoSuchDevice(request->id(), **snapshot, "id");
            }
            *response->mutable_device() = ToProto(*device);
            return absl::OkStatus();
          });
        });
    return absl::OkStatus();
  });
}

}  // namespace memplan
