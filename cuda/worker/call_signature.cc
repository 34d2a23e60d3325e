#include "cuda/worker/call_signature.h"

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <bit>
#include <cstdint>
#include <string_view>

#include "planner/trace/name_table.h"
#include "planner/trace/signature.h"
#include "planner/trace/signature_text.h"

namespace memplan::gpu {
namespace {

// torch's names of types are those of C; input specs and traces have Python's.
std::string_view DtypeName(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kLong:
      return "int64";
    case at::kInt:
      return "int32";
    case at::kShort:
      return "int16";
    case at::kChar:
      return "int8";
    case at::kByte:
      return "uint8";
    case at::kBool:
      return "bool";
    default:
      return c10::toString(type);
  }
}

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
    } else if (value.isIntList()) {
      const std::vector<int64_t> numbers = value.toIntVector();
      Push(ArgumentKind::kIntegers, numbers);
    } else if (value.isOptionalTensorList()) {
      AddOptionalTensors(value.toOptionalTensorList());
    } else {
      Push(ArgumentKind::kOther, {});
    }
  }

 private:
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
