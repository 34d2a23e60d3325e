#include "cuda/worker/trial/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace memplan::gpu {
namespace {

using ::testing::Le;
using ::testing::SizeIs;

constexpr char kTraceback[] =
    "The following operation failed in the TorchScript interpreter.\n"
    "Traceback of TorchScript, serialized code (most recent call last):\n"
    "  File \"code/__torch__.py\", line 8, in forward\n"
    "    shape '[ = 1\n"
    "    ~~~~~~ <--- HERE\n"
    "\n"
    "RuntimeError: ";

// Two requests failed, the last for good.
Span Unmet() {
  Span span;
  span.failed_requests = 2;
  span.unmet = FailedRequest{.asked = MiB(2), .allocated = {}, .reserved = {}};
  return span;
}

struct EndingCase {
  std::string name;
  std::string what;
  Evidence evidence;
  EndKind end;
  std::string message;
};

void PrintTo(const EndingCase& test, std::ostream* out) { *out << test.name; }

class FailureOfTest : public ::testing::TestWithParam<EndingCase> {};

TEST_P(FailureOfTest, TellsTheEndAndTheWords) {
  const Failure failure = FailureOf(GetParam().what, GetParam().evidence);
  EXPECT_EQ(failure.end, GetParam().end);
  EXPECT_EQ(failure.message, GetParam().message);
  EXPECT_EQ(failure.field, "");
}

INSTANTIATE_TEST_SUITE_P(
    Words, FailureOfTest,
    ::testing::ValuesIn<EndingCase>({
        {"TheTypeAloneIsMemory",
         "no words",
         {.out_of_memory_type = true},
         EndKind::kOutOfMemory,
         "no words"},
        {"MemoryThroughTorchScript",
         std::string(kTraceback) +
             "CUDA out of memory. Tried to allocate 2.00 GiB.\n",
         {},
         EndKind::kOutOfMemory,
         "CUDA out of memory. Tried to allocate 2.00 GiB."},
        {"MemoryOfTheDriver",
         "CUDA error: out of memory\nCUDA kernel errors might be "
         "asynchronously "
         "reported",
         {},
         EndKind::kOutOfMemory,
         "CUDA error: out of memory"},
        {"MemoryOfCublas",
         "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
         "`cublasCreate(handle)`",
         {},
         EndKind::kOutOfMemory,
         "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
         "`cublasCreate(handle)`"},
        {"MemoryOfCudnn",
         "FIND was unable to find an engine to execute this computation",
         {},
         EndKind::kOutOfMemory,
         "FIND was unable to find an engine to execute this computation"},
        {"MemoryBeyondAnyDevice",
         "Storage size calculation overflowed with sizes=[4611686018427387904]",
         {},
         EndKind::kOutOfMemory,
         "Storage size calculation overflowed with "
         "sizes=[4611686018427387904]"},
        {"AnUnmetRequestMakesUnknownWordsMemory",
         "something inside a library",
         {.span = Unmet()},
         EndKind::kOutOfMemory,
         "something inside a library"},
        {"ABakedBatchIsAShapeEvenIfCudnnHadRetried",
         std::string(kTraceback) +
             "shape '[2, 16]' is invalid for input of size 48",
         {.span = Unmet()},
         EndKind::kShapeRefused,
         "shape '[2, 16]' is invalid for input of size 48"},
        {"OperandsThatDoNotGoTogether",
         std::string(kTraceback) +
             "The size of tensor a (3) must match the size of tensor b (2) at "
             "non-singleton dimension 0",
         {},
         EndKind::kShapeRefused,
         "The size of tensor a (3) must match the size of tensor b (2) at "
         "non-singleton dimension 0"},
        {"MatricesThatDoNotGoTogether",
         "mat1 and mat2 shapes cannot be multiplied (2x63 and 64x256)",
         {},
         EndKind::kShapeRefused,
         "mat1 and mat2 shapes cannot be multiplied (2x63 and 64x256)"},
        {"WordsInTheModelsCodeDoNotCount",
         std::string(kTraceback) + "index out of range in self",
         {},
         EndKind::kModelFailed,
         "index out of range in self"},
        {"AFileThatTheSandboxKeeps",
         std::string(kTraceback) +
             "unable to open file </etc/passwd> in read-only mode: Permission "
             "denied (13)",
         {.sandboxed = true},
         EndKind::kSandboxRefused,
         "unable to open file </etc/passwd> in read-only mode: Permission "
         "denied (13)"},
        {"ACallThatTheSandboxRefuses",
         "socket: Operation not permitted",
         {.sandboxed = true},
         EndKind::kSandboxRefused,
         "socket: Operation not permitted"},
        {"AFileThatIsTheUsersWithoutASandbox",
         "open: Permission denied (13)",
         {},
         EndKind::kModelFailed,
         "open: Permission denied (13)"},
        {"MemoryEvenInASandbox",
         "CUDA out of memory. Permission denied",
         {.sandboxed = true},
         EndKind::kOutOfMemory,
         "CUDA out of memory. Permission denied"},
        {"ADtypeTheModelRefuses",
         "expected m1 and m2 to have the same dtype, but got: double != float",
         {},
         EndKind::kModelFailed,
         "expected m1 and m2 to have the same dtype, but got: double != float"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(OwnWordsTest, TakesTheLastErrorOfNestedTracebacks) {
  EXPECT_EQ(OwnWords("RuntimeError: outer\nRuntimeError: inner\n"), "inner");
  EXPECT_EQ(OwnWords("Traceback …\ntorch.jit.Error: raised by the model\n"),
            "raised by the model");
  // As Python's own are named there; the code before it may be long.
  EXPECT_EQ(
      OwnWords("Traceback …\n    raise ValueError(\n" + std::string(5000, '~') +
               " <--- HERE\nbuiltins.ValueError: Expected more than 1 "
               "value per channel when training\n"),
      "Expected more than 1 value per channel when training");
  EXPECT_EQ(OwnWords("MyException: mine: two\nlines"), "mine: two\nlines");
  EXPECT_EQ(OwnWords("an Error: in words"), "an Error: in words");
}

TEST(OwnWordsTest, DropsFramesAndAdvice) {
  EXPECT_EQ(OwnWords("bad\nException raised from f at f.cpp:1\nframe #0: g"),
            "bad");
  EXPECT_EQ(OwnWords("CUDA error: device-side assert triggered\nSearch for "
                     "`cudaErrorAssert' in https://…"),
            "CUDA error: device-side assert triggered");
  EXPECT_EQ(OwnWords("file not found. This is an internal miniz error. If you "
                     "are seeing this error, …"),
            "file not found.");
}

TEST(OwnWordsTest, KeepsTextWithoutAnyOfIt) {
  EXPECT_EQ(OwnWords("  plain \n"), "plain");
  EXPECT_EQ(OwnWords(""), "");
}

TEST(FailureOfTest, KeepsMessagesShort) {
  EXPECT_THAT(FailureOf(std::string(5000, 'x'), {}).message, SizeIs(Le(1024)));
}

TEST(BadRequestTest, NamesTheField) {
  const Failure failure = BadRequest("inputs", "one is missing");
  EXPECT_EQ(failure.end, EndKind::kBadRequest);
  EXPECT_EQ(failure.field, "inputs");
  EXPECT_EQ(failure.message, "one is missing");
}

}  // namespace
}  // namespace memplan::gpu
