// memplan-worker: carries out the orders of the daemon that started it, then
// exits. It is no command for people: it talks over descriptor 3 and records
// on 4.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/worker/cpu_device.h"
#include "cuda/worker/cuda_device.h"
#include "cuda/worker/messages/messages.h"
#include "cuda/worker/operator_observer.h"
#include "cuda/worker/sandbox/sandbox.h"
#include "cuda/worker/torch_version.h"
#include "cuda/worker/torch_workshop.h"
#include "cuda/worker/traced_inputs.h"
#include "cuda/worker/trial/conversation.h"
#include "cuda/worker/trial/orders.h"
#include "cuda/worker/trial/recorder.h"
#include "cuda/worker/trial/trace_writer.h"
#include "cuda/worker/trial/traced_batch.h"

namespace memplan::gpu {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitNoDaemon = 4;
constexpr int kExitNotSandboxed = 5;
// Something of the order before could not be given up.
constexpr int kExitNotFresh = 6;

absl::StatusOr<std::unique_ptr<Device>> StartDevice(const TrialRequest& request,
                                                    Recorder& recorder) {
  if (request.device == DeviceKind::kCpu) {
    return StartCpuDevice(request.cap, recorder);
  }
  return StartCudaDevice(request.cap, recorder);
}

// What the daemon is told if there is no device to run on.
Report NoDevice(const absl::Status& status, bool sandboxed) {
  Report report;
  report.end = EndKind::kBadRequest;
  report.field = "device_id";
  std::string words(status.message());
  // The driver says no more than that some call to the system failed.
  if (sandboxed) {
    words += "; if memplan-server --sandbox=off helps, it is the sandbox";
  }
  report.message = TrimmedMessage(words);
  report.failed_while_loading = true;
  return report;
}

// Ends the process without a destructor: those of tensors could hang or abort
// after a CUDA error that sticks, and other threads may still record.
[[noreturn]] void Leave(int code) {
  std::fflush(nullptr);
  _exit(code);
}

[[noreturn]] void LeaveWith(int code, const absl::Status& status) {
  std::fprintf(stderr, "memplan-worker: %s\n", status.ToString().c_str());
  Leave(code);
}

void LeaveUnlessOk(const absl::Status& status) {
  if (!status.ok()) LeaveWith(kExitNoDaemon, status);
}

// The program that the first order names.
TrialRequest RequestOf(const DaemonMessage& order) {
  if (const auto* prepare = std::get_if<Prepare>(&order)) {
    return prepare->program;
  }
  return std::get<TrialRequest>(order);
}

// Shuts the process in as asked. From then on the request asks for a sandbox
// only if there is one that refuses something.
void ShutIn(TrialRequest& request, const Allowances& allowances,
            Conversation& conversation) {
  if (!request.sandbox) return;
  const auto layers = EnterSandbox(SubjectOf(request), allowances);
  LeaveUnlessOk(conversation.TellSandbox(layers));
  if (request.sandbox->required && !CoreLayersMissing(layers).empty()) {
    Leave(kExitNotSandboxed);
  }
  if (!Refuses(layers)) request.sandbox.reset();
}

// All that is made here lives until the process ends.
[[noreturn]] void Serve(Signatures signatures, const Allowances& allowances) {
  const auto writer = TraceWriter::Map(kTraceDescriptor);
  LeaveUnlessOk(writer.status());
  Recorder recorder(**writer);
  Conversation conversation(kChannelDescriptor);
  auto first = conversation.Begin(TorchVersion());
  LeaveUnlessOk(first.status());
  Program program{.request = RequestOf(*first), .traced_batch = std::nullopt};
  TrialRequest& request = program.request;
  // While there is one thread: neither libtorch's initializers, which ran before
  // main, nor anything above has started another.
  ShutIn(request, allowances, conversation);
  conversation.EndWithTheDaemon();
  // Before the device is started, so that it leaves no mark in the trace.
  program.traced_batch =
      TracedBatch(request.inputs, TracedInputShapes(request.model_path));

  const auto device = StartDevice(request, recorder);
  if (!device.ok()) {
    LeaveUnlessOk(conversation.Answer(
        NoDevice(device.status(), request.sandbox.has_value())));
    Leave(0);
  }
  ObserveOperators(recorder, signatures);
  TorchWorkshop workshop(request.device, **device, recorder);
  Orders orders(program, workshop, **device, recorder, conversation);
  const absl::Status served = orders.Serve(*std::move(first));
  if (absl::IsFailedPrecondition(served)) LeaveWith(kExitNotFresh, served);
  LeaveUnlessOk(served);
  Leave(0);
}

// Applies the sandbox to this process and prints how that went, as `sandboxed`.
int CheckSandbox() {
  const Sandboxed sandboxed{EnterSandbox(SubjectOf({}), {})};
  std::printf("%s\n", Encode(WorkerMessage(sandboxed)).c_str());
  return 0;
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("memplan-worker %s (libtorch %s, protocol %d)\n",
                MEMPLAN_VERSION, TorchVersion().c_str(), kProtocolVersion);
    return 0;
  }
  // To show that recording signatures changes nothing else.
  if (argc == 2 && std::string_view(argv[1]) == "--no-signatures") {
    Serve(Signatures::kNone, {});
  }
  if (argc == 2 && std::string_view(argv[1]) == "--sandbox-check") {
    return CheckSandbox();
  }
  // To find out what of the sandbox a driver minds: --allow proc connect …
  if (argc > 2 && std::string_view(argv[1]) == "--allow") {
    Serve(Signatures::kRecorded, Allowances(argv + 2, argv + argc));
  }
  if (argc != 1) {
    std::fprintf(stderr,
                 "memplan-worker is started by memplan-server; on its own it "
                 "only has --version and --sandbox-check\n");
    return kExitUsage;
  }
  Serve(Signatures::kRecorded, {});
}

}  // namespace
}  // namespace memplan::gpu

int main(int argc, char** argv) { return memplan::gpu::Main(argc, argv); }
