#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/trace/fields.h"
#include "planner/trace/signature_text.h"
#include "planner/trace/text_format.h"
#include "planner/trace/trace_builder.h"

namespace memplan {
namespace {

// What the fields of a line are, after the letter of its kind.
enum class Field { kBytes, kAddress, kName, kDepth };

struct LineForm {
  char letter;
  EventKind kind;
  std::string_view shown;
  std::array<Field, 3> fields;
  size_t field_count;
  bool has_stream = false;
  bool has_depth = false;
};

constexpr std::array<LineForm, 11> kForms = {{
    {'M', EventKind::kPhase, "M name", {Field::kName}, 1},
    {'O', EventKind::kOperator, "O depth op", {Field::kDepth, Field::kName}, 2},
    {'A',
     EventKind::kAlloc,
     "A bytes addr op",
     {Field::kBytes, Field::kAddress, Field::kName},
     3,
     true,
     true},
    {'F', EventKind::kFreeRequested, "F addr", {Field::kAddress}, 1},
    {'D', EventKind::kFree, "D addr", {Field::kAddress}, 1},
    {'S',
     EventKind::kSegmentAlloc,
     "S bytes addr",
     {Field::kBytes, Field::kAddress},
     2,
     true},
    {'U',
     EventKind::kSegmentFree,
     "U bytes addr",
     {Field::kBytes, Field::kAddress},
     2,
     true},
    {'P',
     EventKind::kSegmentMap,
     "P bytes addr",
     {Field::kBytes, Field::kAddress},
     2,
     true},
    {'Q',
     EventKind::kSegmentUnmap,
     "Q bytes addr",
     {Field::kBytes, Field::kAddress},
     2,
     true},
    {'X',
     EventKind::kFailedRequest,
     "X bytes op",
     {Field::kBytes, Field::kName},
     2,
     true,
     true},
    {'E', EventKind::kEmptyCache, "E", {}, 0},
}};

absl::Status Wrong(std::string_view what, std::string_view text) {
  constexpr size_t kShown = 60;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(what), " \"",
                   absl::CHexEscape(std::string(text.substr(0, kShown))),
                   text.size() > kShown ? "…\"" : "\""));
}

template <typename Number>
absl::Status ReadNumber(std::string_view text, int base, std::string_view what,
                        Number& value) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc() && end == text.data() + text.size()) {
    return absl::OkStatus();
  }
  return Wrong(absl::StrCat("expected ", std::string(what), ", found"), text);
}

absl::Status ReadBytes(std::string_view text, int64_t& value) {
  return ReadNumber(text, 10, "a number of bytes", value);
}
absl::Status ReadDepth(std::string_view text, int64_t& value) {
  return ReadNumber(text, 10, "a depth", value);
}
absl::Status ReadHex(std::string_view text, std::string_view what,
                     uint64_t& value) {
  return ReadNumber(text, 16, what, value);
}

absl::Status ReadField(Field field, std::string_view text, TraceEntry& entry) {
  switch (field) {
    case Field::kBytes:
      return ReadBytes(text, entry.bytes);
    case Field::kAddress:
      return ReadHex(text, "an address in hex", entry.address);
    case Field::kDepth:
      return ReadDepth(text, entry.depth);
    case Field::kName:
      break;
  }
  entry.name = text;
  return absl::OkStatus();
}

absl::Status ReadOptionalField(const LineForm& form, std::string_view text,
                               TraceEntry& entry) {
  constexpr std::string_view kStream = "stream=";
  constexpr std::string_view kDepth = "depth=";
  if (form.has_stream && text.starts_with(kStream)) {
    return ReadHex(text.substr(kStream.size()), "a stream's handle in hex",
                   entry.stream);
  }
  if (form.has_depth && text.starts_with(kDepth)) {
    return ReadDepth(text.substr(kDepth.size()), entry.depth);
  }
  return Wrong("an unknown field", text);
}

const LineForm* FormOf(std::string_view letter) {
  if (letter.size() != 1) return nullptr;
  const auto* form = std::find_if(
      kForms.begin(), kForms.end(),
      [&](const LineForm& known) { return known.letter == letter[0]; });
  return form == kForms.end() ? nullptr : form;
}

absl::Status ReadEntry(const LineForm& form, Fields& fields,
                       TraceEntry& entry) {
  entry.kind = form.kind;
  for (Field field : std::span(form.fields).first(form.field_count)) {
    if (fields.AtEnd()) {
      return absl::InvalidArgumentError(
          absl::StrCat("too few fields; expected ", std::string(form.shown)));
    }
    MEMPLAN_RETURN_IF_ERROR(ReadField(field, fields.Take(), entry));
  }
  while (!fields.AtEnd()) {
    MEMPLAN_RETURN_IF_ERROR(ReadOptionalField(form, fields.Take(), entry));
  }
  return absl::OkStatus();
}

absl::Status WithEvent(const TraceBuilder& builder,
                       const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("event ", builder.event_count(), ": ", status.message()));
}

absl::Status AddSignatureLine(Fields& fields, TraceBuilder& builder) {
  if (fields.AtEnd()) {
    return absl::InvalidArgumentError(
        "too few fields; expected G overload argument…");
  }
  MEMPLAN_ASSIGN_OR_RETURN(
      const Signature signature,
      ReadSignature(fields.rest(), builder.signatures(), builder.names()));
  return builder.AddSignature(signature);
}

absl::Status AddLine(std::string_view line, TraceBuilder& builder) {
  Fields fields(line, '\t');
  const std::string_view letter = fields.Take();
  if (letter == "G") {
    return WithEvent(builder, AddSignatureLine(fields, builder));
  }
  const LineForm* form = FormOf(letter);
  if (form == nullptr) {
    return WithEvent(builder, Wrong("a line of unknown kind", letter));
  }
  TraceEntry entry;
  MEMPLAN_RETURN_IF_ERROR(WithEvent(builder, ReadEntry(*form, fields, entry)));
  return builder.Add(entry);
}

}  // namespace

absl::StatusOr<Trace> ReadTraceText(std::string_view text) {
  TraceBuilder builder;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (absl::Status status = AddLine(text.substr(0, end), builder);
        !status.ok()) {
      return absl::Status(
          status.code(), absl::StrCat("line ", number, ", ", status.message()));
    }
    text = end == std::string_view::npos ? std::string_view()
                                         : text.substr(end + 1);
  }
  return builder.Build();
}

}  // namespace memplan
