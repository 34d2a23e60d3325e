#include "planner/plan/input_spec.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/plan/dtype_table.h"
#include "planner/plan/text_scanner.h"

namespace memplan {
namespace {

// torch refuses tensors of more dimensions (at::kMaxDims is 64 in its kernels).
constexpr size_t kMaxDimensionCount = 64;
constexpr int64_t kMaxElements = int64_t{1} << 62;

// 0 if `digits` are no number in 1 … kMaxDimension.
int64_t SizeOf(std::string_view digits) {
  int64_t size = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc()) return 0;
  return size >= 1 && size <= kMaxDimension ? size : 0;
}

absl::StatusOr<DType> ReadDType(TextScanner& scanner) {
  const size_t start = scanner.position();
  const std::optional<DType> dtype = DTypeNamed(scanner.TakeName());
  if (dtype.has_value()) return *dtype;
  return scanner.ErrorAt(start,
                         "expected a type: float64, float32, float16, "
                         "bfloat16, int64, int32, int16, int8, uint8 or bool");
}

absl::StatusOr<Dimension> ReadDimension(TextScanner& scanner) {
  scanner.SkipSpaces();
  const size_t start = scanner.position();
  const std::string_view digits = scanner.TakeDigits();
  if (digits.empty()) {
    const std::string_view name = scanner.TakeName();
    if (!name.empty()) return Dimension{std::string(name), 1};
    return scanner.Error(
        "expected a dimension: a number, a name (B is the batch) or both as in "
        "2*T");
  }
  const int64_t size = SizeOf(digits);
  if (size == 0) {
    return scanner.ErrorAt(start, "a dimension is 1 to 2147483648");
  }
  scanner.SkipSpaces();
  if (!scanner.Take("*")) return Dimension{"", size};
  scanner.SkipSpaces();
  const std::string_view name = scanner.TakeName();
  if (name.empty()) return scanner.Error("expected a name after '*'");
  return Dimension{std::string(name), size};
}

absl::StatusOr<std::vector<Dimension>> ReadShape(TextScanner& scanner) {
  scanner.SkipSpaces();
  if (!scanner.Take("[")) {
    return scanner.Error("expected '[' and the dimensions, as in [B,3,224]");
  }
  std::vector<Dimension> shape;
  while (true) {
    if (shape.size() == kMaxDimensionCount) {
      return scanner.Error("a tensor has at most 64 dimensions");
    }
    MEMPLAN_ASSIGN_OR_RETURN(Dimension dimension, ReadDimension(scanner));
    shape.push_back(std::move(dimension));
    scanner.SkipSpaces();
    if (scanner.Take("]")) return shape;
    if (!scanner.Take(",")) return scanner.Error("expected ',' or ']'");
  }
}

// One end of a range; `highest` is what the type holds.
absl::StatusOr<double> ReadBound(TextScanner& scanner,
                                 const DTypeTraits& traits, double highest) {
  scanner.SkipSpaces();
  const size_t start = scanner.position();
  const std::string_view text = scanner.TakeNumber();
  if (text.empty()) {
    return scanner.ErrorAt(start,
                           "expected a range as in {0..30000}, {ones} or "
                           "{zeros}");
  }
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (!traits.is_floating && value != std::floor(value)) {
    return scanner.ErrorAt(
        start, absl::StrCat("a bound of ", traits.name, " is a whole number"));
  }
  if (error != std::errc() || value < traits.lowest || value > highest) {
    return scanner.ErrorAt(
        start, absl::StrCat("the bound does not fit in ", traits.name));
  }
  return value;
}

absl::StatusOr<Fill> ReadRange(TextScanner& scanner, DType dtype) {
  const DTypeTraits& traits = TraitsOf(dtype);
  if (dtype == DType::kBool) {
    return scanner.Error("bool takes {ones} or {zeros}, not a range");
  }
  const size_t start = scanner.position();
  MEMPLAN_ASSIGN_OR_RETURN(const double low,
                           ReadBound(scanner, traits, traits.highest));
  scanner.SkipSpaces();
  if (!scanner.Take("..")) {
    return scanner.Error("expected '..' and the upper bound");
  }
  // The upper bound is not itself a value, so it may be one more.
  const double highest = traits.highest + (traits.is_floating ? 0 : 1);
  MEMPLAN_ASSIGN_OR_RETURN(const double high,
                           ReadBound(scanner, traits, highest));
  if (low >= high) {
    return scanner.ErrorAt(start,
                           "the range is empty: the lower bound is included, "
                           "the upper is not");
  }
  return Fill{FillKind::kUniform, low, high};
}

absl::StatusOr<Fill> ReadFill(TextScanner& scanner, DType dtype) {
  scanner.SkipSpaces();
  if (scanner.Take("ones")) return Fill{FillKind::kOnes};
  if (scanner.Take("zeros")) return Fill{FillKind::kZeros};
  if (!scanner.Take("{")) {
    return Fill{TraitsOf(dtype).is_floating ? FillKind::kNormal
                                            : FillKind::kZeros};
  }
  scanner.SkipSpaces();
  Fill fill;
  if (scanner.Take("ones")) {
    fill.kind = FillKind::kOnes;
  } else if (!scanner.Take("zeros")) {
    MEMPLAN_ASSIGN_OR_RETURN(fill, ReadRange(scanner, dtype));
  }
  scanner.SkipSpaces();
  if (!scanner.Take("}")) return scanner.Error("expected '}'");
  return fill;
}

absl::StatusOr<InputSpec> ReadSpec(TextScanner& scanner) {
  scanner.SkipSpaces();
  InputSpec spec;
  MEMPLAN_ASSIGN_OR_RETURN(spec.dtype, ReadDType(scanner));
  MEMPLAN_ASSIGN_OR_RETURN(spec.shape, ReadShape(scanner));
  MEMPLAN_ASSIGN_OR_RETURN(spec.fill, ReadFill(scanner, spec.dtype));
  scanner.SkipSpaces();
  return spec;
}

std::string FormatDimension(const Dimension& dimension) {
  if (dimension.name.empty()) return absl::StrCat(dimension.size);
  if (dimension.size == 1) return dimension.name;
  return absl::StrCat(dimension.size, "*", dimension.name);
}

// The shortest text that reads back as the same number.
std::string FormatBound(double value) {
  std::array<char, 32> text;
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end);
}

std::string FormatFill(const Fill& fill, DType dtype) {
  switch (fill.kind) {
    case FillKind::kNormal:
      return "";
    case FillKind::kZeros:
      return TraitsOf(dtype).is_floating ? "{zeros}" : "";
    case FillKind::kOnes:
      return "{ones}";
    case FillKind::kUniform:
      return absl::StrCat("{", FormatBound(fill.low), "..",
                          FormatBound(fill.high), "}");
  }
  return "";
}

// What `dimension` is at `batch`.
absl::StatusOr<int64_t> SizeAt(
    const Dimension& dimension, int64_t batch,
    const std::map<std::string, int64_t>& dimensions) {
  if (dimension.name.empty()) return dimension.size;
  if (dimension.name == kBatchDimension) return dimension.size * batch;
  const auto found = dimensions.find(dimension.name);
  if (found == dimensions.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimension ", dimension.name, " has no value; give it as ",
                     dimension.name, "=256 (on the command line --dim ",
                     dimension.name, "=256)"));
  }
  if (found->second < 1 || found->second > kMaxDimension) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimension ", dimension.name, " is ", found->second,
                     "; give it a value in 1 to ", kMaxDimension));
  }
  return dimension.size * found->second;
}

}  // namespace

absl::StatusOr<InputSpec> ParseInputSpec(std::string_view text) {
  TextScanner scanner(text);
  MEMPLAN_ASSIGN_OR_RETURN(InputSpec spec, ReadSpec(scanner));
  if (!scanner.AtEnd()) {
    return scanner.Error(
        "expected the end, {ones}, {zeros} or a range as in {0..30000}");
  }
  return spec;
}

absl::StatusOr<std::vector<InputSpec>> ParseInputSpecs(std::string_view text) {
  TextScanner scanner(text);
  std::vector<InputSpec> specs;
  while (true) {
    MEMPLAN_ASSIGN_OR_RETURN(InputSpec spec, ReadSpec(scanner));
    specs.push_back(std::move(spec));
    if (scanner.AtEnd()) return specs;
    if (!scanner.Take(";") && !scanner.Take(",")) {
      return scanner.Error(
          "expected the end, ';' and another input, {ones}, {zeros} or a range "
          "as in {0..30000}");
    }
  }
}

std::string FormatInputSpec(const InputSpec& spec) {
  std::string text = absl::StrCat(TraitsOf(spec.dtype).name, "[");
  for (size_t i = 0; i < spec.shape.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", FormatDimension(spec.shape[i]));
  }
  absl::StrAppend(&text, "]", FormatFill(spec.fill, spec.dtype));
  return text;
}

bool UsesBatch(const InputSpec& spec) {
  for (const Dimension& dimension : spec.shape) {
    if (dimension.name == kBatchDimension) return true;
  }
  return false;
}

absl::StatusOr<std::vector<int64_t>> InputShape(
    const InputSpec& spec, int64_t batch,
    const std::map<std::string, int64_t>& dimensions) {
  if (batch < 1 || batch > kMaxDimension) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", batch, " is not in 1 to ", kMaxDimension));
  }
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (const Dimension& dimension : spec.shape) {
    MEMPLAN_ASSIGN_OR_RETURN(const int64_t size,
                             SizeAt(dimension, batch, dimensions));
    if (size > kMaxElements / elements) {
      return absl::InvalidArgumentError(
          absl::StrCat(FormatInputSpec(spec), " at batch ", batch,
                       " has more than 2^62 elements; choose smaller sizes"));
    }
    elements *= size;
    shape.push_back(size);
  }
  return shape;
}

}  // namespace memplan
