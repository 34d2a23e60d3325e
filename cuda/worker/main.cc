// memplan-worker: runs one trial for the daemon that started it, then exits. It
// is no command for people: it talks over descriptor 3 and records on 4.
#include <unistd.h>

#include <cstdio>
#include <memory>
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
#include "cuda/worker/trial/conversation.h"
#include "cuda/worker/trial/recorder.h"
#include "cuda/worker/trial/trace_writer.h"
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

Report Refusal(const Failure& failure) {
  Report report;
  report.end = failure.end;
  report.field = failure.field;
  report.message = failure.message;
  report.failed_while_loading = true;
  return report;
}

Report Run(const TrialRequest& request, Recorder& recorder,
           Conversation& conversation) {
  auto device = StartDevice(request, recorder);
  if (!device.ok()) {
    return Refusal(
        BadRequest("device_id", std::string(device.status().message())));
  }
  ObserveOperators(recorder);
  // Neither is ever destroyed: after a CUDA error that sticks, letting go of
  // tensors could hang or abort before the report is out.
  Device* const lasting_device = device->release();
  Execution* const lasting_execution =
      MakeTorchExecution(request, *lasting_device, recorder).release();
  return RunTrial(request, *lasting_device, *lasting_execution, recorder,
                  conversation);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "memplan-worker: %s\n", status.ToString().c_str());
  return kExitNoDaemon;
}

int Serve() {
  auto writer = TraceWriter::Map(kTraceDescriptor);
  if (!writer.ok()) return Fail(writer.status());
  Recorder recorder(**writer);
  Conversation conversation(kChannelDescriptor);
  conversation.EndWithTheDaemon();
  const auto request = conversation.Begin(TorchVersion());
  if (!request.ok()) return Fail(request.status());
  const Report report = Run(*request, recorder, conversation);
  const absl::Status sent = conversation.End(report);
  return sent.ok() ? 0 : Fail(sent);
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("memplan-worker %s (libtorch %s, protocol %d)\n",
                MEMPLAN_VERSION, TorchVersion().c_str(), kProtocolVersion);
    return 0;
  }
  if (argc != 1) {
    std::fprintf(stderr,
                 "memplan-worker is started by memplan-server; on its own it "
                 "only has --version\n");
    return kExitUsage;
  }
  return Serve();
}

}  // namespace
}  // namespace memplan::gpu

int main(int argc, char** argv) {
  const int code = memplan::gpu::Main(argc, argv);
  std::fflush(nullptr);
  // Destructors of a broken CUDA context could hang or abort.
  _exit(code);
}
