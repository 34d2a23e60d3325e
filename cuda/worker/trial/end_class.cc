#include "cuda/worker/trial/end_class.h"

#include <algorithm>
#include <span>

namespace memplan::gpu {
namespace {

using Words = std::string_view;

// The allocator's, the driver's and the program's own.
constexpr Words kMemoryWords[] = {
    "out of memory",
    "Out of memory",
    "would exceed allowed memory",
    "cudaErrorMemoryAllocation",
    "CUFFT_ALLOC_FAILED",
    "Tried to allocate more than 1EB memory",
    "Storage size calculation overflowed",
};

// Of the driver alone: the allocator says what it tried to allocate.
constexpr Words kDriverWords[] = {
    "CUDA error: out of memory",
    "CUDA driver error: out of memory",
    "cudaErrorMemoryAllocation",
    "CUDA_ERROR_OUT_OF_MEMORY",
};

// A kernel library that makes its handle or loads a part of itself.
constexpr Words kLoadingWords[] = {
    "calling `cublasCreate",
    "calling `cublasLtCreate",
    "calling `cusolverDnCreate",
    "calling `cusparseCreate",
    "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED",
};

// Of kernel libraries, for want of memory whatever else is known. cuDNN finds no
// engine, or fails inside, when its scratch space is refused.
constexpr Words kLibraryWords[] = {
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR",
    "CUSOLVER_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES",
    "CUSPARSE_STATUS_ALLOC_FAILED",
    "unable to find an engine",
};

// Of kernel libraries, for want of memory only where memory is short.
constexpr Words kPressedLibraryWords[] = {
    "CUBLAS_STATUS_NOT_INITIALIZED",
    "CUBLAS_STATUS_INTERNAL_ERROR",
    "CUBLAS_STATUS_EXECUTION_FAILED",
    "CUDNN_STATUS_NOT_INITIALIZED",
    "CUDNN_STATUS_EXECUTION_FAILED",
    "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED",
    "CUSOLVER_STATUS_INTERNAL_ERROR",
    "CUSOLVER_STATUS_NOT_INITIALIZED",
    "cusolver error",
};

constexpr Words kHostWords[] = {
    "DefaultCPUAllocator",
    "not enough memory: you tried to allocate",
    "std::bad_alloc",
    "Cannot allocate memory",
};

// Operators whose operands do not have sizes that go together.
constexpr Words kShapeWords[] = {
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

constexpr Words kIndexWords[] = {
    "32-bit index",
    "32BitIndex",
    "INT_MAX",
    "2^31",
    "std::numeric_limits<int>::max()",
    "std::numeric_limits<int32_t>::max()",
    "more than 2147483647",
    "integer out of range",
    "too many elements",
};

constexpr Words kLaunchWords[] = {
    "invalid configuration argument", "too many resources requested for launch",
    "cudaErrorInvalidConfiguration",  "cudaErrorLaunchOutOfResources",
    "exceeds the maximum grid",
};

constexpr Words kAssertWords[] = {
    "device-side assert triggered",
    "illegal memory access",
    "misaligned address",
    "unspecified launch failure",
};

constexpr Words kUnsupportedWords[] = {
    "\" not implemented for '",
    "Could not run '",
    "is not currently implemented for",
    "no kernel image is available",
    "is not supported on",
    "not supported for",
    "Unsupported dtype",
    "unsupported ScalarType",
    "Unknown builtin op",
};

constexpr Words kSettingsWords[] = {
    "CUDACachingAllocator.cpp",
    "CachingAllocator option",
    "CUDAAllocatorConfig",
};

// A library that is loaded takes up to this beside the allocator
// (docs/measurements.md: 0.72 GB with cuBLAS and cuDNN).
constexpr Bytes kLibraryNeeds = MiB(768);
// So little is free only when all was taken.
constexpr Bytes kNearlyNothing = MiB(64);

bool HasAny(Words text, std::span<const Words> words) {
  return std::any_of(words.begin(), words.end(), [text](Words word) {
    return text.find(word) != Words::npos;
  });
}

bool IsFreeBelow(const Evidence& evidence, Bytes bytes) {
  return evidence.device_free.has_value() && *evidence.device_free < bytes;
}

// Whether memory was short, though not necessarily why it failed.
bool IsPressed(const Evidence& evidence) {
  return evidence.span.failed_requests > 0 ||
         evidence.span.allocation_retries > 0 ||
         IsFreeBelow(evidence, kLibraryNeeds);
}

// The allocator refused: for want of memory, or of memory in one piece.
EndClass AllocatorClass(const Evidence& evidence) {
  const auto& unmet = evidence.span.unmet;
  const bool is_in_pieces =
      unmet.has_value() && unmet->asked < unmet->reserved - unmet->allocated;
  return is_in_pieces ? EndClass::kFragmentation : EndClass::kMemory;
}

// A library failed: it had no room beside the allocator, or got none of it.
EndClass LibraryClass(Words words, const Evidence& evidence) {
  const bool had_no_room = evidence.span.failed_requests == 0 &&
                           IsFreeBelow(evidence, kLibraryNeeds);
  return HasAny(words, kLoadingWords) || had_no_room
             ? EndClass::kLibraryLoading
             : EndClass::kLibraryUnderPressure;
}

// What words alone say; kOther if nothing.
EndClass ClassOfWords(Words words, const Evidence& evidence) {
  if (HasAny(words, kAssertWords)) return EndClass::kDeviceAssert;
  if (HasAny(words, kSettingsWords) && evidence.has_allocator_settings) {
    return EndClass::kConfiguration;
  }
  if (HasAny(words, kHostWords)) return EndClass::kHostMemory;
  if (HasAny(words, kIndexWords)) return EndClass::kIndexLimit;
  if (HasAny(words, kLaunchWords)) return EndClass::kLaunchLimit;
  if (HasAny(words, kUnsupportedWords)) return EndClass::kUnsupported;
  if (HasAny(words, kShapeWords)) return EndClass::kFixedShape;
  return EndClass::kOther;
}

}  // namespace

EndClass ClassOf(std::string_view words, const Evidence& evidence) {
  if (evidence.host_memory_type) return EndClass::kHostMemory;
  if (evidence.device_lost) return EndClass::kDeviceAssert;
  if (HasAny(words, kLibraryWords)) return LibraryClass(words, evidence);
  if (HasAny(words, kPressedLibraryWords) && IsPressed(evidence)) {
    return LibraryClass(words, evidence);
  }
  if (HasAny(words, kDriverWords)) return EndClass::kDriverMemory;
  if (evidence.out_of_memory_type || HasAny(words, kMemoryWords)) {
    return AllocatorClass(evidence);
  }
  const EndClass said = ClassOfWords(words, evidence);
  if (said != EndClass::kOther) return said;
  // Words that nobody knows: an error that hides what was behind it.
  if (evidence.span.unmet.has_value()) return AllocatorClass(evidence);
  if (IsFreeBelow(evidence, kNearlyNothing)) return EndClass::kDriverMemory;
  return EndClass::kOther;
}

}  // namespace memplan::gpu
