#include "cuda/worker/call_arguments.h"

#include <ATen/ATen.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/worker/dtype_names.h"
#include "planner/base/status_macros.h"
#include "planner/trace/signature.h"

namespace memplan::gpu {
namespace {

// Elements from the first to the last that these strides reach.
int64_t SpannedElements(at::IntArrayRef sizes, at::IntArrayRef strides) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return last + 1;
}

// `type` without what makes it optional.
c10::TypePtr Inner(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

bool IsListOf(const c10::TypePtr& type, c10::TypeKind kind) {
  const auto list = Inner(type)->cast<c10::ListType>();
  return list && list->getElementType()->kind() == kind;
}

// Makes a call's arguments one after the other.
class ArgumentMaker {
 public:
  ArgumentMaker(const DistinctCall& call, at::Device device)
      : recorded_(call.arguments), device_(device) {}

  bool AtEnd() const { return next_ == recorded_.size(); }

  // The next one, for `declared`.
  absl::StatusOr<c10::IValue> Make(const c10::Argument& declared) {
    const CallArgument& argument = recorded_[next_++];
    const std::vector<int64_t>& numbers = argument.numbers;
    switch (argument.kind) {
      case ArgumentKind::kNone:
        return MakeNone(declared);
      case ArgumentKind::kTensor:
        return MakeTensor(argument);
      case ArgumentKind::kTensorList:
        return MakeTensors(numbers.at(0), declared);
      case ArgumentKind::kInteger:
        return c10::IValue(numbers.at(0));
      case ArgumentKind::kIntegers:
        return MakeIntegers(numbers, declared);
      case ArgumentKind::kBoolean:
        return c10::IValue(numbers.at(0) != 0);
      case ArgumentKind::kReal:
        return c10::IValue(std::bit_cast<double>(numbers.at(0)));
      case ArgumentKind::kBooleans:
        return MakeBooleans(numbers);
      case ArgumentKind::kReals:
        return MakeReals(numbers);
      case ArgumentKind::kDevice:
        return c10::IValue(argument.on_cpu ? at::Device(at::kCPU) : device_);
      case ArgumentKind::kText:
        return c10::IValue(argument.dtype);
      case ArgumentKind::kOther:
        break;
    }
    return MakeDefault(declared);
  }

 private:
  static c10::IValue MakeNone(const c10::Argument& declared) {
    const bool is_tensor = declared.type()->kind() == c10::TypeKind::TensorType;
    return is_tensor ? c10::IValue(at::Tensor()) : c10::IValue();
  }

  absl::StatusOr<c10::IValue> MakeTensor(const CallArgument& argument) const {
    const std::optional<at::ScalarType> type = DtypeOfName(argument.dtype);
    if (!type.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "argument ", next_, " has the unknown type ", argument.dtype));
    }
    const at::IntArrayRef numbers(argument.numbers);
    const size_t rank = numbers.size() / 2;
    const at::IntArrayRef sizes = numbers.slice(0, rank);
    const at::IntArrayRef strides = numbers.slice(rank);
    const auto options = at::dtype(*type).device(
        argument.on_cpu ? at::Device(at::kCPU) : device_);
    // Overlapping elements, as of an expanded tensor, cannot be written.
    return c10::IValue(at::zeros({SpannedElements(sizes, strides)}, options)
                           .as_strided(sizes, strides));
  }

  absl::StatusOr<c10::IValue> MakeTensors(int64_t count,
                                          const c10::Argument& declared) {
    std::vector<std::optional<at::Tensor>> tensors;
    for (int64_t i = 0; i < count; ++i) {
      if (AtEnd()) return TooFew();
      const CallArgument& argument = recorded_[next_++];
      if (argument.kind == ArgumentKind::kNone) {
        tensors.emplace_back();
      } else if (argument.kind == ArgumentKind::kTensor) {
        MEMPLAN_ASSIGN_OR_RETURN(const c10::IValue tensor,
                                 MakeTensor(argument));
        tensors.emplace_back(tensor.toTensor());
      } else {
        return NotRecorded(declared);
      }
    }
    if (IsListOf(declared.type(), c10::TypeKind::OptionalType)) {
      return c10::IValue(c10::List<std::optional<at::Tensor>>(tensors));
    }
    c10::List<at::Tensor> list;
    for (const auto& tensor : tensors) {
      list.push_back(tensor.value_or(at::Tensor()));
    }
    return c10::IValue(std::move(list));
  }

  // An empty list is of whatever is declared.
  static c10::IValue MakeIntegers(const std::vector<int64_t>& numbers,
                                  const c10::Argument& declared) {
    if (numbers.empty() && IsListOf(declared.type(), c10::TypeKind::BoolType)) {
      return c10::IValue(c10::List<bool>());
    }
    if (numbers.empty() &&
        IsListOf(declared.type(), c10::TypeKind::FloatType)) {
      return c10::IValue(c10::List<double>());
    }
    return c10::IValue(numbers);
  }

  static c10::IValue MakeBooleans(const std::vector<int64_t>& numbers) {
    c10::List<bool> list;
    for (const int64_t number : numbers) list.push_back(number != 0);
    return c10::IValue(std::move(list));
  }

  static c10::IValue MakeReals(const std::vector<int64_t>& numbers) {
    c10::List<double> list;
    for (const int64_t number : numbers) {
      list.push_back(std::bit_cast<double>(number));
    }
    return c10::IValue(std::move(list));
  }

  absl::StatusOr<c10::IValue> MakeDefault(const c10::Argument& declared) const {
    if (declared.default_value().has_value()) return *declared.default_value();
    return NotRecorded(declared);
  }

  absl::Status NotRecorded(const c10::Argument& declared) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "argument ", next_, " (", declared.name(), ", ",
        declared.type()->repr_str(), ") is of a kind that traces do not keep"));
  }

  absl::Status TooFew() const {
    return absl::InvalidArgumentError(
        absl::StrCat("the call was recorded with ", recorded_.size(),
                     " arguments, too few"));
  }

  const std::vector<CallArgument>& recorded_;
  const at::Device device_;
  size_t next_ = 0;
};

}  // namespace

absl::StatusOr<torch::jit::Stack> MakeCallArguments(
    const DistinctCall& call, const c10::FunctionSchema& schema,
    at::Device device) {
  torch::jit::Stack stack;
  ArgumentMaker maker(call, device);
  for (const c10::Argument& declared : schema.arguments()) {
    if (maker.AtEnd()) {
      if (!declared.default_value().has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("argument ", declared.name(), " was not recorded"));
      }
      stack.push_back(*declared.default_value());
      continue;
    }
    MEMPLAN_ASSIGN_OR_RETURN(c10::IValue value, maker.Make(declared));
    stack.push_back(std::move(value));
  }
  if (maker.AtEnd()) return stack;
  return absl::InvalidArgumentError(
      absl::StrCat("the call was recorded with more arguments than the ",
                   schema.arguments().size(), " of ", schema.name()));
}

}  // namespace memplan::gpu
