#include "cuda/worker/method_arguments.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace memplan::gpu {

std::optional<MethodArguments> ForwardArguments(
    const torch::jit::Module& module) {
  const std::optional<torch::jit::Method> forward =
      module.find_method("forward");
  if (!forward.has_value()) return std::nullopt;
  MethodArguments arguments;
  arguments.all = forward->function().getSchema().arguments();
  arguments.all.erase(arguments.all.begin());  // self
  for (size_t i = 0; i < arguments.all.size(); ++i) {
    if (!arguments.all[i].default_value().has_value()) arguments.needed = i + 1;
  }
  return arguments;
}

bool TakesTensor(const c10::Argument& argument) {
  return c10::TensorType::get()->isSubtypeOf(*argument.type());
}

std::string ArgumentList(const MethodArguments& arguments) {
  std::vector<std::string> names;
  for (const c10::Argument& argument : arguments.all) {
    names.push_back(absl::StrCat(
        argument.name(), TakesTensor(argument) ? "" : " (no tensor)",
        argument.default_value().has_value() ? " (optional)" : ""));
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace memplan::gpu
