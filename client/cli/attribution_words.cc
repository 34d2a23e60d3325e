#include "client/cli/attribution_words.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/words.h"
#include "client/errors.h"

namespace memplan {
namespace {

// Without the parts that a trace has no names for.
std::string MakerWords(const v1::AttributedRequest& request) {
  if (request.operator_name().empty()) return "outside of operators";
  std::string words =
      absl::StrCat("for ", PrintableText(request.operator_name()));
  if (!request.innermost_name().empty() &&
      request.innermost_name() != request.operator_name()) {
    absl::StrAppend(&words, " (", PrintableText(request.innermost_name()), ")");
  }
  return words;
}

}  // namespace

std::string RequestWords(const v1::AttributedRequest& request) {
  std::string words =
      absl::StrCat(BytesWords(request.bytes()), " ", MakerWords(request));
  if (!request.phase().empty()) {
    absl::StrAppend(&words, ", in ", PrintableText(request.phase()));
  }
  return words;
}

std::string ContentsWords(const v1::ContentsDependence& contents) {
  return absl::StrCat(
      "what ", PrintableText(absl::StrJoin(contents.operator_names(), ", ")),
      " gives is as large as the inputs' contents have it; ",
      contents.at_peak_bytes() == 0
          ? "none of it was held at the peak of these"
          : absl::StrCat("with others about ",
                         BytesWords(contents.at_peak_bytes()),
                         " more, or above, may be needed"),
      ": ask for the worst, such as --input 'float32[B,10]{ones}'");
}

}  // namespace memplan
