// memplan-worker: runs one trial for the daemon that started it, then exits. It
// is no command for people: it talks over descriptor 3 and records on 4.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/worker/cpu_device.h"
#include "cuda/worker/cuda_device.h"
#include "cuda/worker/messages/messages.h"
#include "cuda/worker/operator_observer.h"
#include "cuda/worker/torch_execution.h"
#include "cuda/worker/torch_version.h"
#include "cuda/worker/traced_inputs.h"
#include "cuda/worker/trial/conversation.h"
#include "cuda/worker/trial/recorder.h"
#include "cuda/worker/trial/trace_writer.h"
#include "cuda/worker/trial/traced_batch.h"
#include "cuda/worker/trial/trial.h"

namespace memplan::gpu {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitNoDaemon = 4;

absl::StatusOr<std::unique_ptr<Device>> StartDevice(const TrialRequest& request,
                                                    Recorder& recorder) {
  if (request.device == DeviceKind::kCpu) {
    return StartCpuDevice(request.cap, recorder);
  }
  return StartCudaDevice(request.cap, recorder);
}

// What the daemon is told if there is no device to run on.
Report NoDevice(const absl::Status& status) {
  Report report;
  report.end = EndKind::kBadRequest;
  report.field = "device_id";
  report.message = TrimmedMessage(std::string(status.message()));
  report.failed_while_loading = true;
  return report;
}

// Ends the process without a destructor: those of tensors could hang or abort
// after a CUDA error that sticks, and other threads may still record.
[[noreturn]] void Leave(int code) {
  std::fflush(nullptr);
  _exit(code);
}

void LeaveUnlessOk(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "memplan-worker: %s\n", status.ToString().c_str());
  Leave(kExitNoDaemon);
}

// All that is made here lives until the process ends.
[[noreturn]] void Serve(Signatures signatures) {
  const auto writer = TraceWriter::Map(kTraceDescriptor);
  LeaveUnlessOk(writer.status());
  Recorder recorder(**writer);
  Conversation conversation(kChannelDescriptor);
  conversation.EndWithTheDaemon();
  const auto request = conversation.Begin(TorchVersion());
  LeaveUnlessOk(request.status());
  // Before the device is started, so that it leaves no mark in the trace.
  const std::optional<int64_t> traced_batch =
      TracedBatch(request->inputs, TracedInputShapes(request->model_path));

  const auto device = StartDevice(*request, recorder);
  if (!device.ok()) {
    LeaveUnlessOk(conversation.End(NoDevice(device.status())));
    Leave(0);
  }
  ObserveOperators(recorder, signatures);
  const auto execution = MakeTorchExecution(*request, **device, recorder);
  Report report =
      RunTrial(*request, **device, *execution, recorder, conversation);
  report.traced_batch = traced_batch;
  LeaveUnlessOk(conversation.End(report));
  Leave(0);
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("memplan-worker %s (libtorch %s, protocol %d)\n",
                MEMPLAN_VERSION, TorchVersion().c_str(), kProtocolVersion);
    return 0;
  }
  // To show that recording signatures changes nothing else.
  if (argc == 2 && std::string_view(argv[1]) == "--no-signatures") {
    Serve(Signatures::kNone);
  }
  if (argc != 1) {
    std::fprintf(stderr,
                 "memplan-worker is started by memplan-server; on its own it "
                 "only has --version\n");
    return kExitUsage;
  }
  Serve(Signatures::kRecorded);
}

}  // namespace
}  // namespace memplan::gpu

int main(int argc, char** argv) { return memplan::gpu::Main(argc, argv); }
