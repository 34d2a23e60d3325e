#include "cuda/worker/trial/ending.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"

namespace memplan::gpu {
namespace {

// The system's words for EACCES and EPERM: what the sandbox answers.
bool IsRefusal(std::string_view words) {
  return words.find("Permission denied") != std::string_view::npos ||
         words.find("Operation not permitted") != std::string_view::npos;
}

EndKind KindOf(EndClass end_class) {
  switch (end_class) {
    case EndClass::kMemory:
    case EndClass::kFragmentation:
    case EndClass::kDriverMemory:
    case EndClass::kLibraryLoading:
    case EndClass::kLibraryUnderPressure:
      return EndKind::kOutOfMemory;
    case EndClass::kFixedShape:
      return EndKind::kShapeRefused;
    default:
      return EndKind::kModelFailed;
  }
}

// How much of `line` is the name of an error, its colon and a space included, as
// in `RuntimeError: …`, `torch.jit.Error: …` or `builtins.ValueError: …`; else 0.
size_t ErrorNameLength(std::string_view line) {
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return 0;
  const std::string_view name = line.substr(0, colon);
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '.';
  });
  if (!is_name) return 0;
  return name.ends_with("Error") || name.ends_with("Exception") ? colon + 2 : 0;
}

// What follows the name in the last line that begins with one; all of `text` if
// none does.
std::string_view AfterLastErrorName(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    const size_t newline = text.rfind('\n', begin - 1);
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view rest = text.substr(line);
    if (const size_t name = ErrorNameLength(rest); name > 0) {
      return rest.substr(name);
    }
    begin = newline == std::string_view::npos ? 0 : newline;
  }
  return text;
}

// The text before what torch appends: C++ frames, guesses at the cause.
std::string_view WithoutAdditions(std::string_view text) {
  for (const std::string_view addition :
       {"Exception raised from", "\nframe #0",
        " This is an internal miniz error", "\nSearch for `cuda",
        "\nCUDA kernel errors might"}) {
    text = text.substr(0, text.find(addition));
  }
  return text;
}

}  // namespace

Failure BadRequest(std::string_view field, std::string_view message) {
  return {.end = EndKind::kBadRequest,
          .field = std::string(field),
          .message = TrimmedMessage(message)};
}

Failure FailureOf(std::string_view what, const Evidence& evidence) {
  Failure failure;
  const std::string words = OwnWords(what);
  failure.message = TrimmedMessage(words);
  failure.end_class = ClassOf(words, evidence);
  failure.end = KindOf(failure.end_class);
  if (failure.end_class == EndClass::kOther && evidence.sandboxed &&
      IsRefusal(words)) {
    failure.end = EndKind::kSandboxRefused;
  }
  return failure;
}

std::string OwnWords(std::string_view what) {
  std::string words(AfterLastErrorName(WithoutAdditions(what)));
  absl::StripAsciiWhitespace(&words);
  return words;
}

}  // namespace memplan::gpu
