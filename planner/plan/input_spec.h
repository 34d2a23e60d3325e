// What a model's inputs look like, written as people write them:
//
//   float32[B,3,224,224]      standard normal values, B is the batch
//   int64[B,T]{0..30000}      uniform, 0 included, 30000 not; T has a fixed value
//   bool[B,1]{ones}           all true
//
// Grammar: dtype '[' dimension (',' dimension)* ']' fill?, with
// dimension = integer | name | integer '*' name, and
// fill = '{' low '..' high '}' | '{ones}' | '{zeros}' | ' ones' | ' zeros'.
// Several specs in one text stand apart by ';' or by ',' outside brackets.
// Without a fill, floating types are standard normal, all others zero (a valid
// index everywhere). Pure: text in, values out.
#ifndef MEMPLAN_PLANNER_PLAN_INPUT_SPEC_H_
#define MEMPLAN_PLANNER_PLAN_INPUT_SPEC_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace memplan {

enum class DType {
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kBool,
};

// `float32` and so on; the words ParseInputSpec reads.
std::string_view DTypeName(DType dtype);

// One dimension: `size` times the dimension called `name`, or `size` alone if
// the name is empty. `B` is the batch.
struct Dimension {
  std::string name;
  int64_t size = 1;
  friend bool operator==(const Dimension&, const Dimension&) = default;
};

enum class FillKind { kNormal, kZeros, kOnes, kUniform };

// The values of an input. `low` and `high` count only for kUniform: low is
// included, high is not.
struct Fill {
  FillKind kind = FillKind::kZeros;
  double low = 0;
  double high = 0;
  friend bool operator==(const Fill&, const Fill&) = default;
};

struct InputSpec {
  DType dtype = DType::kFloat32;
  std::vector<Dimension> shape;
  Fill fill;
  friend bool operator==(const InputSpec&, const InputSpec&) = default;
};

// The name that stands for the batch.
inline constexpr std::string_view kBatchDimension = "B";
// The largest batch and the largest named dimension.
inline constexpr int64_t kMaxDimension = int64_t{1} << 31;

// Reads one spec. Returns kInvalidArgument whose message has the text, a line
// with a caret under the column, the column counted from 1, and what would be
// accepted there.
absl::StatusOr<InputSpec> ParseInputSpec(std::string_view text);

// Reads one or more specs from a text; columns count from the text's start.
absl::StatusOr<std::vector<InputSpec>> ParseInputSpecs(std::string_view text);

// The spec as ParseInputSpec reads it.
std::string FormatInputSpec(const InputSpec& spec);

// True if some dimension is the batch.
bool UsesBatch(const InputSpec& spec);

// The sizes at `batch`. `dimensions` has the values of the names other than B.
// Returns kInvalidArgument if a name has no value (says how to give it), the
// batch is not in 1 … 2^31, or the number of elements does not fit in 2^62.
absl::StatusOr<std::vector<int64_t>> InputShape(
    const InputSpec& spec, int64_t batch,
    const std::map<std::string, int64_t>& dimensions);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_INPUT_SPEC_H_
