// An operator's signature as one line of a trace's text, its fields apart by
// tabs: the overload, then the arguments.
//
//   float32[8,3,224,224]{150528,50176,224,1}       a tensor: sizes and strides
//   int64[]{}@cpu                                  one that lies in host memory
//   *2                                             a list of the next 2 tensors
//   7   [1,1]   true   #3fc0000000000000          integer(s), boolean, bits of a real
//   [true,false]   [#3fc0000000000000]             booleans, reals
//   @cpu   @device   "none"                        devices, a text
//   -   ?                                          none; anything else
#ifndef MEMPLAN_PLANNER_TRACE_SIGNATURE_TEXT_H_
#define MEMPLAN_PLANNER_TRACE_SIGNATURE_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/trace/name_table.h"
#include "planner/trace/signature.h"

namespace memplan {

// Reads `text`, adding arguments to `table` and names to `names`; the signature
// itself is not added. kInvalidArgument, with the argument's number and what is
// wrong with it; the tables may then hold more than before.
absl::StatusOr<Signature> ReadSignature(std::string_view text,
                                        SignatureTable& table,
                                        NameTable& names);

// Whether `text` can be an argument as it is: no quotes, nothing unprintable,
// at most 256 bytes.
bool IsSignatureText(std::string_view text);

// What ReadSignature reads; of an id that the tables do not hold, nothing.
std::string WriteSignature(const Signature& signature,
                           const SignatureTable& table, const NameTable& names);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_SIGNATURE_TEXT_H_
