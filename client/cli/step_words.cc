#include "client/cli/step_words.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/words.h"

namespace memplan {
namespace {

void AddLoopWords(const v1::StepOptions& step,
                  std::vector<std::string>& words) {
  if (step.accumulation_steps() > 1) {
    words.push_back(
        absl::StrCat(step.accumulation_steps(), " micro-batches a step"));
  }
  if (step.zero_grad() == v1::ZERO_GRAD_ZERO) {
    words.push_back("gradients kept and zeroed");
  }
  if (step.also_batches_size() > 0) {
    words.push_back(
        absl::StrCat("also batch ", absl::StrJoin(step.also_batches(), ", ")));
  }
  if (step.evaluation_batch() > 0) {
    words.push_back(
        absl::StrCat("evaluation at batch ", step.evaluation_batch()));
  }
}

void AddLossWords(const v1::StepOptions& step,
                  std::vector<std::string>& words) {
  if (step.has_loss_output()) {
    words.push_back(absl::StrCat("loss from output ", step.loss_output()));
  }
  if (!step.loss_model_sha256().empty()) {
    words.push_back(
        absl::StrCat("loss of ", ShortHash(step.loss_model_sha256())));
  }
}

void AddCudnnWords(const v1::StepOptions& step,
                   std::vector<std::string>& words) {
  if (step.cudnn_benchmark()) words.push_back("cuDNN benchmark");
  if (step.cudnn_deterministic()) words.push_back("cuDNN deterministic");
}

}  // namespace

std::string StepOptionWords(const v1::StepOptions& step) {
  std::vector<std::string> words;
  switch (step.autocast()) {
    case v1::AUTOCAST_UNSPECIFIED:
      break;
    case v1::AUTOCAST_BFLOAT16:
      words.push_back("autocast bf16");
      break;
    case v1::AUTOCAST_FLOAT16:
      words.push_back("autocast fp16");
      break;
    default:
      words.push_back(absl::StrCat("autocast unknown (", step.autocast(), ")"));
  }
  AddLoopWords(step, words);
  AddLossWords(step, words);
  AddCudnnWords(step, words);
  return words.empty() ? "" : absl::StrCat(", ", absl::StrJoin(words, ", "));
}

std::string StepWords(const v1::ProbeSpec& spec, int index) {
  if (index < 0) return "the load of the model";
  if (index < spec.steps()) {
    return absl::StrCat("step ", index + 1, " of ", spec.steps());
  }
  const v1::StepOptions& step = spec.step();
  const int further = index - spec.steps();
  if (further < step.also_batches_size()) {
    return absl::StrCat("the step at batch ", step.also_batches(further));
  }
  if (further == step.also_batches_size() && step.evaluation_batch() > 0) {
    return absl::StrCat("the evaluation at batch ", step.evaluation_batch());
  }
  return "the step after the others";
}

std::string ImplementationWords(v1::OptimizerImplementation implementation) {
  switch (implementation) {
    case v1::OPTIMIZER_IMPLEMENTATION_UNSPECIFIED:
    case v1::OPTIMIZER_IMPLEMENTATION_LIBTORCH:
      return "";
    case v1::OPTIMIZER_IMPLEMENTATION_FOR_LOOP:
      return " (for-loop)";
    case v1::OPTIMIZER_IMPLEMENTATION_FOREACH:
      return " (foreach)";
    case v1::OPTIMIZER_IMPLEMENTATION_FUSED:
      return " (fused)";
    default:
      return absl::StrCat(" (unknown ", implementation, ")");
  }
}

}  // namespace memplan
