#include "cuda/worker/trial/ending.h"

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

// What follows the last line that begins with the name of an error, as in
// `RuntimeError: …` or `torch.jit.Error: …`; all of `text` if none does.
std::string_view AfterLastErrorName(std::string_view text) {
  std::string_view found = text;
  for (const std::string_view name :
       {"RuntimeError: ", "torch.jit.Error: ", "AssertionError: "}) {
    const size_t at = text.rfind(name);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = text.substr(at + name.size());
    if (found.size() == text.size() || rest.size() < found.size()) found = rest;
  }
  return found;
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
