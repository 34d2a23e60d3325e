// What an operator was called with: its overload and, of each argument, what
// decides how much memory the call takes. Sizes and types only, never contents
// of tensors. All signatures of a trace lie in three flat arrays.
#ifndef MEMPLAN_PLANNER_TRACE_SIGNATURE_H_
#define MEMPLAN_PLANNER_TRACE_SIGNATURE_H_

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/trace/event.h"

namespace memplan {

enum class ArgumentKind : uint8_t {
  kNone,        // None, or an undefined tensor
  kTensor,      // numbers: sizes, then as many strides
  kTensorList,  // numbers: how many of the arguments that follow are its tensors
  kInteger,     // one number
  kIntegers,    // a list of numbers
  kBoolean,     // one number: 0 or 1
  kReal,        // one number: the bits of a double
  kBooleans,    // a list of numbers, 0 or 1; not empty
  kReals,       // a list of numbers, the bits of doubles; not empty
  kDevice,      // no numbers: `on_cpu` says which
  kText,        // no numbers: `dtype` is the text
  kOther,       // anything else: a generator, a sparse tensor
};

struct SignatureArgument {
  ArgumentKind kind = ArgumentKind::kNone;
  bool on_cpu = false;     // of a tensor: it lies in host memory
  uint32_t dtype = kNoId;  // of a tensor, a text: an id in the trace's names
  uint32_t first_number = 0;
  uint32_t number_count = 0;

  friend bool operator==(const SignatureArgument&,
                         const SignatureArgument&) = default;
};

struct Signature {
  uint32_t overload = kNoId;  // an id in the trace's names; "" is a name too
  uint32_t first_argument = 0;
  uint32_t argument_count = 0;

  friend bool operator==(const Signature&, const Signature&) = default;
};

// A value; ids of signatures are indices into `signatures`.
struct SignatureTable {
  std::vector<Signature> signatures;
  std::vector<SignatureArgument> arguments;
  std::vector<int64_t> numbers;

  std::span<const SignatureArgument> Arguments(const Signature& of) const {
    return std::span(arguments).subspan(of.first_argument, of.argument_count);
  }
  std::span<const int64_t> Numbers(const SignatureArgument& of) const {
    return std::span(numbers).subspan(of.first_number, of.number_count);
  }
  // Of a tensor.
  std::span<const int64_t> Sizes(const SignatureArgument& of) const {
    return Numbers(of).first(of.number_count / 2);
  }
  std::span<const int64_t> Strides(const SignatureArgument& of) const {
    return Numbers(of).last(of.number_count / 2);
  }
  // Of a kReal.
  double Real(const SignatureArgument& of) const {
    return std::bit_cast<double>(numbers[of.first_number]);
  }

  friend bool operator==(const SignatureTable&,
                         const SignatureTable&) = default;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_SIGNATURE_H_
