#include "server/store/spec_codec.h"

#include <nlohmann/json.hpp>

#include "server/store/json_record.h"

namespace memplan {
namespace {

using nlohmann::json;

constexpr EnumNames<DType, 10> kDTypes = {{
    {DType::kFloat64, "float64"},
    {DType::kFloat32, "float32"},
    {DType::kFloat16, "float16"},
    {DType::kBFloat16, "bfloat16"},
    {DType::kInt64, "int64"},
    {DType::kInt32, "int32"},
    {DType::kInt16, "int16"},
    {DType::kInt8, "int8"},
    {DType::kUInt8, "uint8"},
    {DType::kBool, "bool"},
}};

constexpr EnumNames<FillKind, 4> kFillKinds = {{
    {FillKind::kNormal, "normal"},
    {FillKind::kZeros, "zeros"},
    {FillKind::kOnes, "ones"},
    {FillKind::kUniform, "uniform"},
}};

constexpr EnumNames<gpu::Mode, 3> kModes = {{
    {gpu::Mode::kInfer, "infer"},
    {gpu::Mode::kInferGrad, "infer-grad"},
    {gpu::Mode::kTrain, "train"},
}};

constexpr EnumNames<gpu::Optimizer, 5> kOptimizers = {{
    {gpu::Optimizer::kNone, "none"},
    {gpu::Optimizer::kSgd, "sgd"},
    {gpu::Optimizer::kSgdMomentum, "sgd-momentum"},
    {gpu::Optimizer::kAdam, "adam"},
    {gpu::Optimizer::kAdamW, "adamw"},
}};

constexpr EnumNames<gpu::RunAs, 2> kRunAs = {{
    {gpu::RunAs::kTorchScript, "torchscript"},
    {gpu::RunAs::kEager, "eager"},
}};

constexpr EnumNames<SearchMethod, 3> kMethods = {{
    {SearchMethod::kAuto, "auto"},
    {SearchMethod::kPredict, "predict"},
    {SearchMethod::kBisect, "bisect"},
}};

constexpr EnumNames<gpu::Autocast, 3> kAutocasts = {{
    {gpu::Autocast::kNone, "none"},
    {gpu::Autocast::kBFloat16, "bf16"},
    {gpu::Autocast::kFloat16, "fp16"},
}};

constexpr EnumNames<gpu::ZeroGrad, 2> kZeroGrads = {{
    {gpu::ZeroGrad::kNone, "none"},
    {gpu::ZeroGrad::kZero, "zero"},
}};

constexpr EnumNames<gpu::OptimizerImplementation, 4> kImplementations = {{
    {gpu::OptimizerImplementation::kLibtorch, "libtorch"},
    {gpu::OptimizerImplementation::kForLoop, "for-loop"},
    {gpu::OptimizerImplementation::kForeach, "foreach"},
    {gpu::OptimizerImplementation::kFused, "fused"},
}};

json InputToJson(const InputSpec& input) {
  json shape = json::array();
  for (const Dimension& dimension : input.shape) {
    shape.push_back({{"name", dimension.name}, {"size", dimension.size}});
  }
  return {{"dtype", NameIn(kDTypes, input.dtype)},
          {"shape", std::move(shape)},
          {"fill",
           {{"kind", NameIn(kFillKinds, input.fill.kind)},
            {"low", input.fill.low},
            {"high", input.fill.high}}}};
}

InputSpec InputFromJson(const json& object) {
  InputSpec input;
  input.dtype = ValueIn(kDTypes, object.at("dtype"));
  for (const json& dimension : object.at("shape")) {
    input.shape.push_back({dimension.at("name").get<std::string>(),
                           dimension.at("size").get<int64_t>()});
  }
  const json& fill = object.at("fill");
  input.fill.kind = ValueIn(kFillKinds, fill.at("kind"));
  input.fill.low = fill.at("low").get<double>();
  input.fill.high = fill.at("high").get<double>();
  return input;
}

json InputsToJson(const std::vector<InputSpec>& inputs) {
  json list = json::array();
  for (const InputSpec& input : inputs) list.push_back(InputToJson(input));
  return list;
}

std::vector<InputSpec> InputsFromJson(const json& list) {
  std::vector<InputSpec> inputs;
  for (const json& input : list) inputs.push_back(InputFromJson(input));
  return inputs;
}

json StepOptionsToJson(const ProbeSpec& spec) {
  const gpu::StepOptions& step = spec.step;
  json object = {
      {"autocast", NameIn(kAutocasts, step.autocast)},
      {"cudnn_benchmark", step.cudnn_benchmark},
      {"cudnn_deterministic", step.cudnn_deterministic},
      {"also_batches", step.also_batches},
      {"accumulation_steps", step.accumulation_steps},
      {"zero_grad", NameIn(kZeroGrads, step.zero_grad)},
      {"evaluation_batch", step.evaluation_batch},
      {"targets", InputsToJson(step.targets)},
      {"loss_model_sha256", spec.loss_model_sha256},
      {"optimizer_implementation",
       NameIn(kImplementations, spec.optimizer_implementation)},
  };
  PutOptional(object, "loss_output", step.loss_output,
              [](int output) { return json(output); });
  return object;
}

void ReadStepOptions(const json& object, ProbeSpec& spec) {
  gpu::StepOptions& step = spec.step;
  step.autocast = ValueIn(kAutocasts, object.at("autocast"));
  step.cudnn_benchmark = object.at("cudnn_benchmark").get<bool>();
  step.cudnn_deterministic = object.at("cudnn_deterministic").get<bool>();
  step.also_batches = object.at("also_batches").get<std::vector<int64_t>>();
  step.accumulation_steps = object.at("accumulation_steps").get<int>();
  step.zero_grad = ValueIn(kZeroGrads, object.at("zero_grad"));
  step.evaluation_batch = object.at("evaluation_batch").get<int64_t>();
  step.targets = InputsFromJson(object.at("targets"));
  step.loss_output = GetOptional(object, "loss_output", [](const json& output) {
    return output.get<int>();
  });
  spec.loss_model_sha256 = object.at("loss_model_sha256").get<std::string>();
  spec.optimizer_implementation =
      ValueIn(kImplementations, object.at("optimizer_implementation"));
}

// True if a step is the plain loop.
bool IsPlain(const ProbeSpec& spec) {
  return spec.step == gpu::StepOptions{} && spec.loss_model_sha256.empty() &&
         spec.optimizer_implementation ==
             gpu::OptimizerImplementation::kLibtorch;
}

json TaskToJson(const std::variant<ProfileTask, SearchOptions>& task) {
  if (const auto* profile = std::get_if<ProfileTask>(&task)) {
    return {{"profile", {{"batches", profile->batches}}}};
  }
  const auto& search = std::get<SearchOptions>(task);
  return {{"search",
           {{"first_batch", search.first_batch},
            {"max_batch", search.max_batch},
            {"repeat", search.repeat}}}};
}

std::variant<ProfileTask, SearchOptions> TaskFromJson(const json& object) {
  if (object.contains("profile")) {
    return ProfileTask{
        object.at("profile").at("batches").get<std::vector<int64_t>>()};
  }
  const json& task = object.at("search");
  SearchOptions search;
  search.first_batch = task.at("first_batch").get<int64_t>();
  search.max_batch = task.at("max_batch").get<int64_t>();
  search.repeat = task.at("repeat").get<int>();
  return search;
}

}  // namespace

json SpecToJson(const ProbeSpec& spec) {
  json object = {
      {"model_sha256", spec.model_sha256},
      {"device_id", spec.device_id},
      {"dimensions", spec.dimensions},
      {"mode", NameIn(kModes, spec.mode)},
      {"optimizer", NameIn(kOptimizers, spec.optimizer)},
      {"run_as", NameIn(kRunAs, spec.run_as)},
      {"steps", spec.steps},
      {"task", TaskToJson(spec.task)},
      {"trial_timeout_ms", spec.trial_timeout.count()},
      {"inputs", InputsToJson(spec.inputs)},
  };
  PutOptional(object, "time_limit_ms", spec.time_limit,
              [](std::chrono::milliseconds limit) { return limit.count(); });
  // Left out as long as they say nothing, as records of before they were do.
  if (spec.max_trials != 0) object["max_trials"] = spec.max_trials;
  if (spec.niceness != 0) object["niceness"] = spec.niceness;
  if (spec.only_when_idle) object["only_when_idle"] = true;
  if (spec.method != SearchMethod::kAuto) {
    object["method"] = NameIn(kMethods, spec.method);
  }
  if (!IsPlain(spec)) object["step"] = StepOptionsToJson(spec);
  PutOptional(object, "cap_bytes", spec.limit.cap, BytesToJson);
  PutOptional(object, "budget_bytes", spec.limit.budget, BytesToJson);
  return object;
}

ProbeSpec SpecFromJson(const json& object) {
  ProbeSpec spec;
  spec.model_sha256 = object.at("model_sha256").get<std::string>();
  spec.device_id = object.at("device_id").get<std::string>();
  spec.dimensions =
      object.at("dimensions").get<std::map<std::string, int64_t>>();
  spec.mode = ValueIn(kModes, object.at("mode"));
  spec.optimizer = ValueIn(kOptimizers, object.at("optimizer"));
  spec.run_as = ValueIn(kRunAs, object.at("run_as"));
  spec.steps = object.at("steps").get<int>();
  spec.task = TaskFromJson(object.at("task"));
  spec.trial_timeout =
      std::chrono::milliseconds(object.at("trial_timeout_ms").get<int64_t>());
  spec.inputs = InputsFromJson(object.at("inputs"));
  spec.time_limit = GetOptional(object, "time_limit_ms", [](const json& limit) {
    return std::chrono::milliseconds(limit.get<int64_t>());
  });
  spec.max_trials = object.value("max_trials", 0);
  spec.niceness = object.value("niceness", 0);
  spec.only_when_idle = object.value("only_when_idle", false);
  if (object.contains("method")) {
    spec.method = ValueIn(kMethods, object.at("method"));
  }
  if (object.contains("step")) ReadStepOptions(object.at("step"), spec);
  spec.limit.cap = GetOptional(object, "cap_bytes", BytesFromJson);
  spec.limit.budget = GetOptional(object, "budget_bytes", BytesFromJson);
  return spec;
}

}  // namespace memplan
