#include "cuda/worker/call_signature.h"

#include <ATen/core/ivalue.h>

#include <bit>
#include <cstdint>
#include <string_view>

#include "cuda/worker/dtype_names.h"
#include "planner/trace/name_table.h"
#include "planner/trace/signature.h"
#include "planner/trace/signature_text.h"

namespace memplan::gpu {
namespace {

// Fills the tables with one call's arguments.
class Arguments {
 public:
  Arguments(SignatureTable& table, NameTable& names)
      : table_(table), names_(names) {}

  void Add(const c10::IValue& value) {
    if (value.isNone()) {
      Push(ArgumentKind::kNone, {});
    } else if (value.isTensor()) {
      AddTensor(value.toTensor());
    } else if (value.isTensorList()) {
      AddTensors(value.toTensorVector());
    } else if (value.isBool()) {
      Push(ArgumentKind::kBoolean, {value.toBool() ? 1 : 0});
    } else if (value.isInt()) {
      Push(ArgumentKind::kInteger, {value.toInt()});
    } else if (value.isDouble()) {
      Push(ArgumentKind::kReal, {std::bit_cast<int64_t>(value.toDouble())});
    } else if (value.isDevice()) {
      Push(ArgumentKind::kDevice, {}).on_cpu = value.toDevice().is_cpu();
    } else if (value.isString()) {
      AddText(value.toStringView());
    } else if (value.isOptionalTensorList()) {
      AddOptionalTensors(value.toOptionalTensorList());
    } else {
      AddNumbers(value);
    }
  }

 private:
  // A list of plain values; an empty one is a list of integers, whatever it is
  // declared as.
  void AddNumbers(const c10::IValue& value) {
    std::vector<int64_t> numbers;
    ArgumentKind kind = ArgumentKind::kOther;
    if (value.isIntList()) {
      kind = ArgumentKind::kIntegers;
      numbers = value.toIntVector();
    } else if (value.isBoolList()) {
      kind = ArgumentKind::kBooleans;
      for (const bool each : value.toBoolList()) numbers.push_back(each);
    } else if (value.isDoubleList()) {
      kind = ArgumentKind::kReals;
      for (const double each : value.toDoubleVector()) {
        numbers.push_back(std::bit_cast<int64_t>(each));
      }
    }
    const bool is_list = kind != ArgumentKind::kOther;
    Push(is_list && numbers.empty() ? ArgumentKind::kIntegers : kind, numbers);
  }

  void AddText(std::string_view text) {
    if (IsSignatureText(text)) {
      Push(ArgumentKind::kText, {}).dtype = names_.Add(text);
    } else {
      Push(ArgumentKind::kOther, {});
    }
  }

  SignatureArgument& Push(ArgumentKind kind, c10::ArrayRef<int64_t> numbers) {
    SignatureArgument argument;
    argument.kind = kind;
    argument.first_number = static_cast<uint32_t>(table_.numbers.size());
    argument.number_count = static_cast<uint32_t>(numbers.size());
    table_.numbers.insert(table_.numbers.end(), numbers.begin(), numbers.end());
    table_.arguments.push_back(argument);
    return table_.arguments.back();
  }

  void AddTensor(const at::Tensor& tensor) {
    if (!tensor.defined()) {
      Push(ArgumentKind::kNone, {});
      return;
    }
    // Sparse, nested and the like have no strides.
    if (tensor.layout() != at::kStrided || tensor.is_nested()) {
      Push(ArgumentKind::kOther, {});
      return;
    }
    SignatureArgument& argument = Push(ArgumentKind::kTensor, tensor.sizes());
    table_.numbers.insert(table_.numbers.end(), tensor.strides().begin(),
                          tensor.strides().end());
    argument.number_count *= 2;
    argument.dtype = names_.Add(DtypeName(tensor.scalar_type()));
    argument.on_cpu = tensor.device().is_cpu();
  }

  void AddTensors(const std::vector<at::Tensor>& tensors) {
    Push(ArgumentKind::kTensorList, {static_cast<int64_t>(tensors.size())});
    for (const at::Tensor& tensor : tensors) AddTensor(tensor);
  }

  void AddOptionalTensors(const c10::List<std::optional<at::Tensor>>& tensors) {
    Push(ArgumentKind::kTensorList, {static_cast<int64_t>(tensors.size())});
    for (const std::optional<at::Tensor> tensor : tensors) {
      AddTensor(tensor.value_or(at::Tensor()));
    }
  }

  SignatureTable& table_;
  NameTable& names_;
};

}  // namespace

std::string CallSignature(const at::RecordFunction& call) {
  const auto name = call.operator_name();
  if (!name.has_value()) return "";
  SignatureTable table;
  NameTable names;
  Arguments arguments(table, names);
  // A boxed call shows the interpreter's whole stack; its own arguments are last.
  c10::ArrayRef<const c10::IValue> inputs = call.inputs();
  if (inputs.size() > call.num_inputs()) {
    inputs = inputs.slice(inputs.size() - call.num_inputs());
  }
  for (const c10::IValue& value : inputs) arguments.Add(value);
  Signature signature;
  signature.overload = names.Add(name->overload_name);
  signature.argument_count = static_cast<uint32_t>(table.arguments.size());
  return WriteSignature(signature, table, names);
}

}  // namespace memplan::gpu
