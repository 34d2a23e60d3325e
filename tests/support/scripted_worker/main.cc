// memplan-scripted-worker: speaks the worker's protocol as memplan-worker does,
// without torch, and behaves or misbehaves as the model file it is told to run
// says (script.h). What it does before it knows the model is told by the name it
// is started under: `says-no-hello`, `speaks-another-version`, `dies-at-once`,
// `lacks-landlock`.
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "cuda/worker/messages/messages.h"
#include "tests/support/scripted_worker/channel.h"
#include "tests/support/scripted_worker/recorded_run.h"
#include "tests/support/scripted_worker/script.h"
#include "tests/support/scripted_worker/scripted_failure.h"
#include "tests/support/scripted_worker/scripted_trial.h"

namespace memplan::testing {
namespace {

// What it says of its sandbox, of which it has none: all in force, unless it is
// started as `lacks-landlock`.
gpu::Sandboxed PretendedSandbox(std::string_view name) {
  gpu::Sandboxed sandboxed;
  for (const std::string_view layer : gpu::kCoreLayers) {
    const bool lacks = name == "lacks-landlock" && layer == gpu::kLandlockLayer;
    sandboxed.layers.push_back(
        {std::string(layer),
         lacks ? gpu::LayerState::kMissing : gpu::LayerState::kInForce,
         lacks ? "the kernel has no Landlock" : "pretended"});
  }
  return sandboxed;
}

// A worker's life after its hello: order after order, all of one program.
class ScriptedSession {
 public:
  explicit ScriptedSession(std::string_view name) : name_(name) {}

  void Run() {
    while (true) {
      const gpu::DaemonMessage order = ReceiveOrder();
      if (const auto* request = std::get_if<gpu::TrialRequest>(&order)) {
        Begin(*request);
        RunTrial(*script_, *request);
        if (!request->stay) return;
      } else if (const auto* prepare = std::get_if<gpu::Prepare>(&order)) {
        Begin(prepare->program);
        PrepareFor(prepare->program);
      } else if (const auto* calls = std::get_if<gpu::RunCalls>(&order)) {
        TellOfCalls(*calls);
      } else {
        return;
      }
    }
  }

 private:
  // With the first order: what it is told to do, and in what sandbox.
  void Begin(const gpu::TrialRequest& program) {
    if (script_) return;
    if (program.sandbox) Send(PretendedSandbox(name_));
    script_ = ReadScript(program.model_path);
  }

  void PrepareFor(const gpu::TrialRequest& program) const {
    const std::string situation = SituationFor(*script_, "prepare");
    if (situation != "hangs on") EndWithTheDaemon();
    LogStart(*script_, "prepare");
    Misbehave(situation);
    gpu::Report report;
    if (FailLoad(*script_, situation, report)) {
      Send(report);
      return;
    }
    if (situation == "model fails") {
      report.end = gpu::EndKind::kModelFailed;
      report.message = "the archive has no such tensor";
      report.failed_while_loading = true;
      Send(report);
      return;
    }
    const bool on_gpu = program.device == gpu::DeviceKind::kCuda;
    Send(on_gpu ? gpu::Prepared{"Scripted GPU", "1.0", "9.0"}
                : gpu::Prepared{});
    Misbehave(SituationFor(*script_, "prepared"));
  }

  void TellOfCalls(const gpu::RunCalls& order) const {
    const std::string situation = SituationFor(*script_, "calls");
    LogStart(*script_, "calls");
    Misbehave(situation);
    gpu::CallsReport report = ResultsOf(order);
    if (situation == "too many results") report.results.emplace_back();
    if (situation == "wild plans") {
      // More than any device has.
      for (gpu::CallResult& result : report.results) {
        result = {{{{0, int64_t{1} << 59}}}, ""};
      }
    }
    if (situation == "hello again") {
      SendHello();
      return;
    }
    Send(report);
  }

  gpu::CallsReport ResultsOf(const gpu::RunCalls& order) const {
    if (!script_->recorded.empty()) {
      return RecordedResults(script_->recorded, order);
    }
    gpu::CallsReport report;
    for (const DistinctCall& call : order.calls) {
      // The convolution of the scripted trace: its input's first size is the
      // batch.
      const int64_t batch = call.arguments.at(0).numbers.at(0);
      const int64_t scratch = ScratchOfBatch(*script_, batch);
      CallPlan plan;
      if (scratch > 0) plan = {{0, scratch}, {0, 0}};
      report.results.push_back({{plan}, ""});
    }
    return report;
  }

  const std::string name_;
  std::optional<Script> script_;
};

void Serve(std::string_view name) {
  if (name == "dies-at-once") _exit(kExitAsScripted);
  if (name == "says-no-hello") {
    while (true) pause();
  }
  SendHello(gpu::kProtocolVersion + (name == "speaks-another-version" ? 1 : 0));
  ScriptedSession(name).Run();
}

}  // namespace
}  // namespace memplan::testing

int main(int argc, char** argv) {
  const std::string_view program = argv[0];
  const std::string_view name = program.substr(program.rfind('/') + 1);
  if (argc == 2 && std::string_view(argv[1]) == "--sandbox-check") {
    if (name == "dies-at-once") return memplan::testing::kExitAsScripted;
    const memplan::gpu::WorkerMessage told =
        memplan::testing::PretendedSandbox(name);
    std::puts(memplan::gpu::Encode(told).c_str());
    return 0;
  }
  memplan::testing::Serve(name);
  _exit(0);  // past the thread that watches the daemon
}
