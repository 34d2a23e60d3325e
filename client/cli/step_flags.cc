#include "client/cli/step_flags.h"

#include <cstdint>
#include <vector>

#include "client/cli/arguments.h"

namespace memplan {
namespace {

constexpr char kStepGroup[] = "How a step is run";
constexpr int64_t kLargestBatch = int64_t{1} << 31;

const Words<v1::Optimizer> kOptimizers = {
    {"sgd", v1::OPTIMIZER_SGD},
    {"sgd-momentum", v1::OPTIMIZER_SGD_MOMENTUM},
    {"adam", v1::OPTIMIZER_ADAM},
    {"adamw", v1::OPTIMIZER_ADAMW}};

const Words<v1::OptimizerImplementation> kImplementations = {
    {"libtorch", v1::OPTIMIZER_IMPLEMENTATION_LIBTORCH},
    {"for-loop", v1::OPTIMIZER_IMPLEMENTATION_FOR_LOOP},
    {"foreach", v1::OPTIMIZER_IMPLEMENTATION_FOREACH},
    {"fused", v1::OPTIMIZER_IMPLEMENTATION_FUSED}};

const Words<v1::Autocast> kAutocasts = {{"bf16", v1::AUTOCAST_BFLOAT16},
                                        {"fp16", v1::AUTOCAST_FLOAT16}};

const Words<v1::ZeroGrad> kZeroGrads = {{"none", v1::ZERO_GRAD_NONE},
                                        {"zero", v1::ZERO_GRAD_ZERO}};

template <typename Value>
std::string ChoicesOf(const Words<Value>& words) {
  std::string choices;
  for (const auto& [word, value] : words) {
    choices += (choices.empty() ? "" : "|") + word;
  }
  return choices;
}

template <typename Value>
Value ValueOf(const Words<Value>& words, const std::string& text) {
  for (const auto& [word, value] : words) {
    if (word == text) return value;
  }
  throw CLI::ValidationError("--train",
                             "\"" + text + "\" is none of " + ChoicesOf(words));
}

void AddLoopFlags(CLI::App& verb, v1::StepOptions& step) {
  verb.add_option_function<int32_t>(
          "--accumulate",
          [&step](int32_t steps) { step.set_accumulation_steps(steps); },
          "Micro-batches in one optimizer step (default 1); the batch is a "
          "micro-batch's")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("COUNT")
      ->group(kStepGroup);
  AddWordFlag<v1::ZeroGrad>(
      verb, "--zero-grad", kZeroGrads,
      [&step](v1::ZeroGrad zero_grad) { step.set_zero_grad(zero_grad); },
      "Gradients before a step: let go of (none, default), or kept and set to "
      "zero")
      ->group(kStepGroup);
  verb.add_option_function<int64_t>(
          "--evaluate-batch",
          [&step](int64_t batch) { step.set_evaluation_batch(batch); },
          "After the steps, run the forward in eval mode at this batch, in the "
          "same process")
      ->check(CLI::Range(int64_t{1}, kLargestBatch).description(""))
      ->type_name("COUNT")
      ->group(kStepGroup);
  verb.add_option_function<std::vector<int64_t>>(
          "--also-batch",
          [&step](const std::vector<int64_t>& batches) {
            step.mutable_also_batches()->Assign(batches.begin(), batches.end());
          },
          "After the steps, run a step of each of these batches too, such as "
          "an "
          "epoch's last")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, kLargestBatch).description(""))
      ->allow_extra_args(false)
      ->type_name("COUNT[,COUNT...]")
      ->group(kStepGroup);
}

void AddLossFlags(CLI::App& verb, v1::StepOptions& step, std::string& loss) {
  CLI::Option* output = verb.add_option_function<int32_t>(
      "--loss-output", [&step](int32_t index) { step.set_loss_output(index); },
      "The model's output, counted from 0, that is the loss, or whose mean "
      "square is");
  output->check(CLI::Range(0, 63).description(""))
      ->type_name("INDEX")
      ->group(kStepGroup);
  verb.add_option(
          "--loss", loss,
          "A TorchScript module, given as MODEL is, that makes the loss "
          "of the model's outputs and the targets")
      ->type_name("MODEL")
      ->excludes(output)
      ->group(kStepGroup);
  verb.add_option_function<std::vector<std::string>>(
          "--target",
          [&step](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              for (const std::string& spec : SplitInputSpecs(text)) {
                step.add_targets(spec);
              }
            }
          },
          "What the loss takes after the model's outputs, written as --input")
      ->needs("--loss")
      ->allow_extra_args(false)
      ->type_name("SPEC")
      ->group(kStepGroup);
}

void AddCudnnFlag(CLI::App& verb, v1::StepOptions& step) {
  verb.add_option_function<std::vector<std::string>>(
          "--cudnn",
          [&step](const std::vector<std::string>& switches) {
            for (const std::string& word : switches) {
              if (word == "benchmark") {
                step.set_cudnn_benchmark(true);
              } else if (word == "deterministic") {
                step.set_cudnn_deterministic(true);
              } else {
                throw CLI::ValidationError(
                    "--cudnn",
                    "\"" + word + "\" is none of benchmark|deterministic");
              }
            }
          },
          "Switches of torch.backends.cudnn that the program turns on: "
          "benchmark, deterministic")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("SWITCH[,SWITCH]")
      ->group(kStepGroup);
}

}  // namespace

void AddStepFlags(CLI::App& verb, v1::ProbeSpec& spec, std::string& loss) {
  v1::StepOptions& step = *spec.mutable_step();
  AddWordFlag<v1::Autocast>(
      verb, "--autocast", kAutocasts,
      [&step](v1::Autocast autocast) { step.set_autocast(autocast); },
      "Run forward and loss in mixed precision, as torch.autocast; training in "
      "fp16 scales gradients")
      ->group(kStepGroup);
  AddLoopFlags(verb, step);
  AddLossFlags(verb, step, loss);
  AddCudnnFlag(verb, step);
}

void ReadOptimizer(const std::string& text, v1::ProbeSpec& spec) {
  const size_t colon = text.find(':');
  spec.set_mode(v1::MODE_TRAIN);
  spec.set_optimizer(ValueOf(kOptimizers, text.substr(0, colon)));
  if (colon == std::string::npos) return;
  spec.mutable_step()->set_optimizer_implementation(
      ValueOf(kImplementations, text.substr(colon + 1)));
}

std::string OptimizerChoices() { return ChoicesOf(kOptimizers) + "[:HOW]"; }

}  // namespace memplan
