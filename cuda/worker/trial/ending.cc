#include "cuda/worker/trial/ending.h"

#include <algorithm>
#include <array>
#include <span>

#include "absl/strings/ascii.h"

namespace memplan::gpu {
namespace {

// Words of the allocator and of the kernel libraries when memory is out. cuDNN
// finds no engine, or fails inside, when its scratch space is refused.
constexpr std::array<std::string_view, 13> kOutOfMemoryWords = {
    "out of memory",
    "Out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR",
    "CUSOLVER_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES",
    "CUSPARSE_STATUS_ALLOC_FAILED",
    "CUFFT_ALLOC_FAILED",
    "cudaErrorMemoryAllocation",
    "unable to find an engine",
    "Tried to allocate more than 1EB memory",
    "Storage size calculation overflowed",
};

// Words of operators whose operands do not have sizes that go together.
constexpr std::array<std::string_view, 15> kShapeWords = {
    "shape '[",
    "is invalid for input of size",
    "must match the size of tensor",
    "must match the existing size",
    "size mismatch",
    "Sizes of tensors must match",
    "shapes cannot be multiplied",
    "Expected size for first two dimensions",
    "Expected size",
    "to have batch_size",
    "expected batch size",
    "the number of sizes provided",
    "The expanded size of the tensor",
    "inconsistent tensor size",
    "split_with_sizes expects split_sizes to sum exactly",
};

// The system's words for EACCES and EPERM: what the sandbox answers.
constexpr std::array<std::string_view, 2> kRefusedWords = {
    "Permission denied",
    "Operation not permitted",
};

bool HasAny(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
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
  const bool is_shape = HasAny(words, kShapeWords);
  if (evidence.out_of_memory_type || HasAny(words, kOutOfMemoryWords) ||
      (evidence.failed_requests > 0 && !is_shape)) {
    failure.end = EndKind::kOutOfMemory;
  } else if (evidence.sandboxed && HasAny(words, kRefusedWords)) {
    failure.end = EndKind::kSandboxRefused;
  } else {
    failure.end = is_shape ? EndKind::kShapeRefused : EndKind::kModelFailed;
  }
  return failure;
}

std::string OwnWords(std::string_view what) {
  std::string words(AfterLastErrorName(WithoutAdditions(what)));
  absl::StripAsciiWhitespace(&words);
  return words;
}

}  // namespace memplan::gpu
