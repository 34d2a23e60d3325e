// The signatures of operators in the trace of a trial on the CPU device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/cuda/worker/worker_process.h"

namespace memplan::gpu {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kRow[] = "float32[B,4]";

// Signatures by operator, of those that have one.
std::multimap<std::string, std::string> SignaturesOf(const MemoryFile& trace) {
  const std::vector<std::string> names = trace.Names();
  std::multimap<std::string, std::string> signatures;
  for (const TraceRecord& record : trace.Records()) {
    if (record.event != TraceEvent::kOperator || record.address == 0) continue;
    signatures.emplace(names.at(record.name), names.at(record.address - 1));
  }
  return signatures;
}

// What happened, without signatures and without addresses, which no two runs
// have in common.
using Event = std::tuple<TraceEvent, int, std::string, uint64_t>;

std::vector<Event> EventsOf(const MemoryFile& trace) {
  const std::vector<std::string> names = trace.Names();
  std::vector<Event> events;
  for (const TraceRecord& record : trace.Records()) {
    events.emplace_back(record.event, record.depth,
                        record.name == kNoName ? "" : names.at(record.name),
                        record.bytes);
  }
  return events;
}

TEST(WorkerSignatureTest, HaveSizesStridesAndTypes) {
  WorkerProcess worker;
  RunTrialIn(worker, RequestFor("linear4", kRow));
  // x[2,4], weight[4,4] and bias[4], one row after the other.
  EXPECT_THAT(SignaturesOf(worker.trace()),
              Contains(Pair("aten::linear",
                            "\tfloat32[2,4]{4,1}@cpu\tfloat32[4,4]{4,1}@cpu"
                            "\tfloat32[4]{1}@cpu")));
}

TEST(WorkerSignatureTest, HaveListsNumbersAndWhatIsNone) {
  WorkerProcess worker;
  RunTrialIn(worker, TrainingOf("conv_norm", "float32[B,3,8,8]",
                                Optimizer::kSgdMomentum));
  const auto signatures = SignaturesOf(worker.trace());
  // Eight filters of 3 by 3: stride, padding, dilation, not transposed, no
  // output padding, one group, and four flags of cuDNN.
  EXPECT_THAT(signatures, Contains(Pair("aten::_convolution",
                                        "\tfloat32[2,3,8,8]{192,64,8,1}@cpu"
                                        "\tfloat32@leaf[8,3,3,3]{27,9,3,1}@cpu"
                                        "\tfloat32@leaf[8]{1}@cpu"
                                        "\t[1,1]\t[0,0]\t[1,1]\tfalse\t[0,0]\t1"
                                        "\tfalse\tfalse\ttrue\ttrue")));
  EXPECT_THAT(signatures, Contains(Pair("aten::empty", HasSubstr("\t-"))));
}

TEST(WorkerSignatureTest, ChangeNothingElseOfTheTrace) {
  const TrialRequest request =
      TrainingOf("conv_norm", "float32[B,3,8,8]", Optimizer::kAdam);
  WorkerProcess with;
  WorkerProcess without(1 << 20, "--no-signatures");
  EXPECT_EQ(RunTrialIn(with, request).report.end, EndKind::kRan);
  EXPECT_EQ(RunTrialIn(without, request).report.end, EndKind::kRan);
  EXPECT_FALSE(SignaturesOf(with.trace()).empty());
  EXPECT_TRUE(SignaturesOf(without.trace()).empty());
  EXPECT_EQ(EventsOf(with.trace()), EventsOf(without.trace()));
}

}  // namespace
}  // namespace memplan::gpu
