#include "planner/trace/irregular_calls.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/trace/event.h"
#include "planner/trace/instantiation.h"
#include "planner/trace/size_law.h"

namespace memplan {
namespace {

// Nothing if a number does not fit 64 bits.
std::optional<std::vector<CallArgument>> ArgumentsAt(
    const SymbolicTrace& symbolic, const SymbolicSignature& signature,
    std::span<const int64_t> values) {
  std::vector<CallArgument> arguments;
  for (const SymbolicArgument& argument : signature.arguments) {
    CallArgument& added = arguments.emplace_back();
    added.kind = argument.kind;
    added.on_cpu = argument.on_cpu;
    added.dtype = std::string(symbolic.names.Name(argument.dtype));
    for (const SizeLaw& law : argument.numbers) {
      const std::optional<int64_t> number = law.At(values);
      if (!number.has_value()) return std::nullopt;
      added.numbers.push_back(*number);
    }
  }
  return arguments;
}

DistinctCall CallAt(const SymbolicTrace& symbolic, uint32_t index,
                    std::span<const int64_t> values) {
  const SymbolicCall& call = symbolic.calls[index];
  DistinctCall result;
  result.operator_name = std::string(symbolic.names.Name(call.name));
  result.is_convolution = call.is_convolution;
  result.calls = {index};
  if (!call.signature.has_value()) return result;
  auto arguments = ArgumentsAt(symbolic, *call.signature, values);
  if (!arguments.has_value()) return result;
  result.overload = std::string(symbolic.names.Name(call.signature->overload));
  result.has_signature = true;
  result.arguments = *std::move(arguments);
  return result;
}

}  // namespace

std::string CallKey(const DistinctCall& call) {
  std::string key = absl::StrCat(call.operator_name, "\n", call.overload);
  for (const CallArgument& argument : call.arguments) {
    absl::StrAppend(&key, "\n", static_cast<int>(argument.kind), " ",
                    static_cast<int>(argument.on_cpu), " ", argument.dtype);
    for (int64_t number : argument.numbers) absl::StrAppend(&key, " ", number);
  }
  return key;
}

absl::StatusOr<std::vector<DistinctCall>> IrregularCallsAt(
    const SymbolicTrace& symbolic, const Shape& shape) {
  MEMPLAN_RETURN_IF_ERROR(ReachOf(symbolic, shape).status());
  std::vector<int64_t> values;
  for (const ShapeDimension& dimension : shape)
    values.push_back(dimension.value);
  std::vector<DistinctCall> distinct;
  absl::flat_hash_map<std::string, uint32_t> places;
  // By call: its place in `distinct` if others can share it, else kNoId.
  std::vector<uint32_t> place_of(symbolic.calls.size(), kNoId);
  for (uint32_t i = 0; i < symbolic.calls.size(); ++i) {
    const uint32_t alike = symbolic.calls[i].alike;
    if (alike < i && place_of[alike] != kNoId) {
      distinct[place_of[alike]].calls.push_back(i);
      continue;
    }
    DistinctCall call = CallAt(symbolic, i, values);
    const auto next = static_cast<uint32_t>(distinct.size());
    if (call.has_signature) {
      const auto [place, is_new] = places.try_emplace(CallKey(call), next);
      place_of[i] = place->second;
      if (!is_new) {
        distinct[place->second].calls.push_back(i);
        continue;
      }
    }
    distinct.push_back(std::move(call));
  }
  return distinct;
}

absl::StatusOr<CallPlans> PlansOfCalls(
    const std::vector<DistinctCall>& distinct,
    std::vector<std::vector<CallPlan>> plans) {
  if (plans.size() != distinct.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(plans.size(), " results for ", distinct.size(),
                     " distinct calls; give one for each, empty if unknown"));
  }
  CallPlans result;
  for (uint32_t i = 0; i < distinct.size(); ++i) {
    for (const uint32_t call : distinct[i].calls) {
      if (call >= result.of_call.size()) {
        result.of_call.resize(call + 1, kNoId);
      }
      if (!plans[i].empty()) result.of_call[call] = i;
    }
  }
  result.distinct = std::move(plans);
  return result;
}

}  // namespace memplan
