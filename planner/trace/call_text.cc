#include "planner/trace/call_text.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/status_macros.h"
#include "planner/trace/name_table.h"
#include "planner/trace/signature.h"
#include "planner/trace/signature_text.h"

namespace memplan {

std::string WriteCallText(const DistinctCall& call) {
  if (!call.has_signature) return "";
  SignatureTable table;
  NameTable names;
  Signature signature;
  signature.overload = names.Add(call.overload);
  for (const CallArgument& argument : call.arguments) {
    SignatureArgument& added = table.arguments.emplace_back();
    added.kind = argument.kind;
    added.on_cpu = argument.on_cpu;
    added.dtype = names.Add(argument.dtype);
    added.first_number = static_cast<uint32_t>(table.numbers.size());
    added.number_count = static_cast<uint32_t>(argument.numbers.size());
    table.numbers.insert(table.numbers.end(), argument.numbers.begin(),
                         argument.numbers.end());
  }
  signature.argument_count = static_cast<uint32_t>(table.arguments.size());
  return WriteSignature(signature, table, names);
}

absl::Status ReadCallText(std::string_view text, DistinctCall& call) {
  SignatureTable table;
  NameTable names;
  MEMPLAN_ASSIGN_OR_RETURN(const Signature signature,
                           ReadSignature(text, table, names));
  std::vector<CallArgument> arguments;
  for (const SignatureArgument& argument : table.Arguments(signature)) {
    CallArgument& added = arguments.emplace_back();
    added.kind = argument.kind;
    added.on_cpu = argument.on_cpu;
    added.dtype = std::string(names.Name(argument.dtype));
    const auto numbers = table.Numbers(argument);
    added.numbers.assign(numbers.begin(), numbers.end());
  }
  call.overload = std::string(names.Name(signature.overload));
  call.arguments = std::move(arguments);
  call.has_signature = true;
  return absl::OkStatus();
}

}  // namespace memplan
