#include "cuda/worker/messages/step_option_messages.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/words.h"

namespace memplan::gpu {
namespace {

using nlohmann::json;

// Every member; one that is not set may be left out of what is read.
constexpr size_t kMembers = 9;

std::vector<int64_t> ReadBatches(JsonReader& reader, const std::string& name) {
  std::vector<int64_t> batches;
  for (const json& item : reader.Array(name, kMaxAlsoBatches)) {
    const int64_t batch = item.is_number_integer() ? item.get<int64_t>() : 0;
    if (batch < 1 || batch > kMaxDimension) {
      reader.Fault(name, "has an item that is no batch");
    }
    batches.push_back(batch);
  }
  return batches;
}

}  // namespace

json StepOptionsToJson(const StepOptions& options) {
  json object = {
      {"autocast", WordFor(options.autocast, kAutocastWords)},
      {"cudnn_benchmark", options.cudnn_benchmark},
      {"cudnn_deterministic", options.cudnn_deterministic},
      {"also_batches", options.also_batches},
      {"accumulation_steps", options.accumulation_steps},
      {"zero_grad", WordFor(options.zero_grad, kZeroGradWords)},
      {"evaluation_batch", options.evaluation_batch},
      {"targets", InputSpecsToJson(options.targets)},
  };
  if (options.loss_output) object["loss_output"] = *options.loss_output;
  return object;
}

StepOptions ReadStepOptions(JsonReader& parent) {
  StepOptions options;
  if (!parent.Has("options")) return options;
  JsonReader reader(parent.Object("options", kMembers),
                    absl::StrCat(parent.path(), ".options"));
  options.autocast = reader.OneOf<Autocast>("autocast", kAutocastWords);
  options.cudnn_benchmark = reader.Boolean("cudnn_benchmark");
  options.cudnn_deterministic = reader.Boolean("cudnn_deterministic");
  options.also_batches = ReadBatches(reader, "also_batches");
  options.accumulation_steps = static_cast<int>(
      reader.Integer("accumulation_steps", 1, kMaxAccumulationSteps));
  options.zero_grad = reader.OneOf<ZeroGrad>("zero_grad", kZeroGradWords);
  options.evaluation_batch =
      reader.Integer("evaluation_batch", 0, kMaxDimension);
  options.targets = ReadInputSpecs(reader, "targets", kMaxTargets);
  if (const std::optional<int64_t> output =
          reader.OptionalInteger("loss_output", 0, kMaxLossOutput)) {
    options.loss_output = static_cast<int>(*output);
  }
  parent.Absorb(reader.Finish());
  return options;
}

json InputSpecsToJson(const std::vector<InputSpec>& specs) {
  json list = json::array();
  for (const InputSpec& spec : specs) list.push_back(FormatInputSpec(spec));
  return list;
}

std::vector<InputSpec> ReadInputSpecs(JsonReader& reader,
                                      const std::string& name, size_t most) {
  std::vector<InputSpec> specs;
  for (const json& item : reader.Array(name, most)) {
    const auto* text = item.get_ptr<const std::string*>();
    if (text == nullptr) {
      reader.Fault(name, "has an item that is no text");
      continue;
    }
    absl::StatusOr<InputSpec> spec = ParseInputSpec(*text);
    if (spec.ok()) {
      specs.push_back(*std::move(spec));
    } else {
      reader.Fault(name, std::string(spec.status().message()));
    }
  }
  return specs;
}

}  // namespace memplan::gpu
