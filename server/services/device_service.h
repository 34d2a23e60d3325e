// DeviceService over the device monitor's last snapshots.
#ifndef MEMPLAN_SERVER_SERVICES_DEVICE_SERVICE_H_
#define MEMPLAN_SERVER_SERVICES_DEVICE_SERVICE_H_

#include <chrono>

#include "memplan/v1/device_service.grpc.pb.h"
#include "server/devices/device_monitor.h"

namespace memplan {

// How long a call waits for the first reading of the devices: a driver that no
// process holds open takes seconds a GPU to start.
inline constexpr std::chrono::seconds kFirstReadingPatience{10};

// Thread-safe. `devices` must outlive it.
class DeviceService final : public v1::DeviceService::CallbackService {
 public:
  explicit DeviceService(DeviceMonitor& devices) : devices_(devices) {}

  grpc::ServerUnaryReactor* ListDevices(
      grpc::CallbackServerContext* context,
      const v1::ListDevicesRequest* request,
      v1::ListDevicesResponse* response) override;
  grpc::ServerUnaryReactor* GetDevice(grpc::CallbackServerContext* context,
                                      const v1::GetDeviceRequest* request,
                                      v1::GetDeviceResponse* response) override;

 private:
  DeviceMonitor& devices_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_DEVICE_SERVICE_H_
