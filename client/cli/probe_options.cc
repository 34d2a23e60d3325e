#include "client/cli/probe_options.h"

#include <google/protobuf/util/time_util.h>

#include "client/cli/step_flags.h"

namespace memplan {
namespace {

constexpr char kWorkGroup[] = "What is run";
constexpr char kLimitGroup[] = "Memory";
constexpr char kShareGroup[] = "Share of the node";

const Words<v1::RunAs> kWaysToRun = {{"torchscript", v1::RUN_AS_TORCHSCRIPT},
                                     {"eager", v1::RUN_AS_EAGER}};

void AddModelFlags(CLI::App& verb, ProbeOptions& options) {
  verb.add_option("MODEL", options.model,
                  "A TorchScript file, uploaded unless the daemon has it, or "
                  "the SHA-256 (or its beginning) of a stored model")
      ->required()
      ->type_name("");
  verb.add_option("DIMENSIONS", options.bare_dimensions,
                  "NAME=VALUE, the same as --dim NAME=VALUE")
      ->type_name("");
  verb.add_option_function<std::vector<std::string>>(
          "--input,-i",
          [&options](const std::vector<std::string>& specs) {
            for (const std::string& text : specs) {
              for (const std::string& spec : SplitInputSpecs(text)) {
                options.spec.add_inputs(spec);
              }
            }
          },
          "An input of the model's forward, such as 'float32[B,3,224,224]' or "
          "'int64[B,T]{0..30000}'; B is the batch. Once for each input, in "
          "order")
      ->required()
      ->allow_extra_args(false)
      ->type_name("SPEC")
      ->group(kWorkGroup);
  verb.add_option("--dim", options.dimensions,
                  "Size of a named dimension other than B, such as T=256")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE")
      ->group(kWorkGroup);
}

void AddModeFlags(CLI::App& verb, v1::ProbeSpec& spec) {
  CLI::Option* train = verb.add_option_function<std::string>(
      "--train",
      [&spec](const std::string& text) { ReadOptimizer(text, spec); },
      "Run training steps with this optimizer; HOW is the implementation that "
      "your program has: libtorch (default), for-loop, foreach or fused");
  train->type_name(OptimizerChoices());
  CLI::Option* infer = verb.add_flag_callback(
      "--infer", [&spec] { spec.set_mode(v1::MODE_INFER); },
      "Run the forward in inference mode (default)");
  CLI::Option* infer_grad = verb.add_flag_callback(
      "--infer-grad", [&spec] { spec.set_mode(v1::MODE_INFER_GRAD); },
      "Run the forward with gradients recorded and no backward");
  train->group(kWorkGroup)->excludes(infer)->excludes(infer_grad);
  infer->group(kWorkGroup)->excludes(infer_grad);
  infer_grad->group(kWorkGroup);
  AddWordFlag<v1::RunAs>(
      verb, "--run-as", kWaysToRun,
      [&spec](v1::RunAs run_as) { spec.set_run_as(run_as); },
      "How TorchScript runs the model: eager allocates as Python does (default "
      "for --train), torchscript as the executor does (default otherwise)")
      ->group(kWorkGroup);
}

void AddTrialFlags(CLI::App& verb, v1::ProbeSpec& spec) {
  verb.add_option_function<int32_t>(
          "--steps", [&spec](int32_t steps) { spec.set_steps(steps); },
          "Steps of each trial (default 4)")
      ->check(CLI::Range(1, 100).description(""))
      ->type_name("COUNT")
      ->group(kWorkGroup);
  AddTimeSpanFlag(
      verb, "--trial-timeout",
      [&spec](std::chrono::milliseconds span) {
        *spec.mutable_trial_timeout() =
            google::protobuf::util::TimeUtil::MillisecondsToDuration(
                span.count());
      },
      "The longest a trial may take before it is killed (default 10m)")
      ->group(kWorkGroup);
}

// What the probe as a whole may take of the node.
void AddShareFlags(CLI::App& verb, v1::ProbeSpec& spec) {
  AddTimeSpanFlag(
      verb, "--time-limit",
      [&spec](std::chrono::milliseconds span) {
        *spec.mutable_time_limit() =
            google::protobuf::util::TimeUtil::MillisecondsToDuration(
                span.count());
      },
      "The longest the probe may run; what it learned is kept (default no "
      "limit)")
      ->group(kShareGroup);
  verb.add_option_function<int32_t>(
          "--max-trials", [&spec](int32_t most) { spec.set_max_trials(most); },
          "The most trials of the probe (default no limit)")
      ->check(CLI::Range(1, 10'000).description(""))
      ->type_name("COUNT")
      ->group(kShareGroup);
  verb.add_option_function<int32_t>(
          "--nice", [&spec](int32_t niceness) { spec.set_niceness(niceness); },
          "Niceness of the workers, 0 to 19 (default 0)")
      ->check(CLI::Range(0, 19).description(""))
      ->type_name("NICENESS")
      ->group(kShareGroup);
  verb.add_flag_callback(
          "--when-idle", [&spec] { spec.set_only_when_idle(true); },
          "Wait until no other process is on the GPU")
      ->group(kShareGroup);
}

void AddLimitFlags(CLI::App& verb, ProbeOptions& options) {
  CLI::Option* cap = AddBytesFlag(
      verb, "--cap",
      [&options](Bytes amount) { options.spec.set_cap_bytes(amount.count()); },
      "What the allocator alone may take, such as 16GiB");
  AddBytesFlag(
      verb, "--budget",
      [&options](Bytes amount) {
        options.spec.set_budget_bytes(amount.count());
      },
      "What the whole process may take on the device, context included")
      ->group(kLimitGroup)
      ->excludes(cap);
  cap->group(kLimitGroup);
  verb.add_option("--device", options.device,
                  "An id that memplan devices shows (or its beginning), gpu "
                  "(the first GPU) or cpu; default the first GPU, else cpu")
      ->type_name("ID")
      ->group(kLimitGroup);
}

}  // namespace

void AddProbeFlags(CLI::App& verb, ProbeOptions& options) {
  AddModelFlags(verb, options);
  AddModeFlags(verb, options.spec);
  AddStepFlags(verb, options.spec, options.loss);
  AddTrialFlags(verb, options.spec);
  AddLimitFlags(verb, options);
  AddShareFlags(verb, options.spec);
  CLI::Option* detach =
      verb.add_flag(
              "--detach", options.detach,
              "Print the new probe's id and end; memplan watch follows it")
          ->group("Output");
  AddOutputFlag(verb, options.output);
  AddDaemonFlags(verb, options.daemon);
  AddPrivateDaemonFlags(verb, options.daemon);
  // A private daemon would end with this command, and the probe with it.
  detach->excludes("--local");
}

void FinishProbeOptions(ProbeOptions& options) {
  v1::ProbeSpec& spec = options.spec;
  std::vector<std::string> dimensions = options.dimensions;
  dimensions.insert(dimensions.end(), options.bare_dimensions.begin(),
                    options.bare_dimensions.end());
  for (const std::string& text : dimensions) {
    const auto dimension = ParseNamedDimension(text);
    if (!dimension.ok()) {
      throw CLI::ValidationError("--dim",
                                 std::string(dimension.status().message()));
    }
    (*spec.mutable_dimensions())[dimension->first] = dimension->second;
  }
  if (spec.mode() == v1::MODE_UNSPECIFIED) spec.set_mode(v1::MODE_INFER);
  if (spec.run_as() == v1::RUN_AS_UNSPECIFIED) {
    spec.set_run_as(spec.mode() == v1::MODE_TRAIN ? v1::RUN_AS_EAGER
                                                  : v1::RUN_AS_TORCHSCRIPT);
  }
}

}  // namespace memplan
