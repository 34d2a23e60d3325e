// What a worker is asked of operator calls and what it answers.
#include "cuda/worker/messages/call_messages.h"

#include <string>

#include "cuda/worker/messages/frame.h"
#include "cuda/worker/messages/messages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cuda/messages/changed_message.h"
#include "tests/cuda/messages/sample_messages.h"
#include "tests/support/status_matchers.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::StatusIs;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

TEST(CallMessagesTest, CallsTravelAsTheirSignatures) {
  EXPECT_EQ(json::parse(Encode(SampleRunCalls())), json::parse(R"({
    "type": "run_calls", "cap": 2147483648, "calls": [
      {"operator": "aten::convolution", "is_convolution": true,
       "signature": "overrideable\tfloat32[8,3]{3,1}\t-\t[1,2]\ttrue"},
      {"operator": "fused_add", "is_convolution": false}]})"));
}

TEST(CallMessagesTest, PlansTravelAsBytesAndFreedRequests) {
  EXPECT_EQ(json::parse(Encode(SampleCallsReport())), json::parse(R"({
    "type": "calls_report", "results": [
      {"plans": [[4096, 512, -1], [4096]]},
      {"fault": "no operator has this name"}]})"));
}

TEST(CallMessagesTest, AThousandLongCallsFitAFrame) {
  RunCalls order = SampleRunCalls();
  order.calls[0].arguments.resize(20, order.calls[0].arguments[0]);
  order.calls.resize(1);
  order.calls.resize(1000, order.calls[0]);
  EXPECT_LT(Encode(order).size(), kMaxFrameBytes);
}

class CallsFaultTest : public ::testing::TestWithParam<Change> {};

TEST_P(CallsFaultTest, IsNamed) {
  const json order = Changed(json::parse(Encode(SampleRunCalls())), GetParam());
  EXPECT_THAT(DecodeDaemonMessage(order.dump()),
              StatusIs(kRefused, HasSubstr(GetParam().fault)));
}

INSTANTIATE_TEST_SUITE_P(
    Changes, CallsFaultTest,
    ::testing::ValuesIn<Change>({
        {"NoCalls", "/calls", Removed(), "run_calls.calls is missing"},
        {"TooManyCalls", "/calls", json(4097, json::object()),
         "run_calls.calls is no list of at most 4096"},
        {"NoOperator", "/calls/1/operator", Removed(),
         "run_calls.calls[1].operator is missing"},
        {"BadSignature", "/calls/0/signature", "out\tfloat32[8",
         "run_calls.calls[0].signature argument 1 of the signature"},
        {"LongSignature", "/calls/0/signature", std::string(65537, 'o'),
         "run_calls.calls[0].signature is longer than 65536 bytes"},
        {"ExtraMember", "/calls/0/extra", 1,
         "run_calls.calls[0].extra is no member"},
        {"NegativeCap", "/cap", -1, "run_calls.cap is not in 0"},
    }),
    [](const auto& test) { return test.param.name; });

class ResultsFaultTest : public ::testing::TestWithParam<Change> {};

TEST_P(ResultsFaultTest, IsNamed) {
  const json report =
      Changed(json::parse(Encode(SampleCallsReport())), GetParam());
  EXPECT_THAT(DecodeWorkerMessage(report.dump()),
              StatusIs(kRefused, HasSubstr(GetParam().fault)));
}

INSTANTIATE_TEST_SUITE_P(
    Changes, ResultsFaultTest,
    ::testing::ValuesIn<Change>({
        {"TooManyResults", "/results", json(4097, json::object()),
         "calls_report.results is no list of at most 4096"},
        {"NoPlans", "/results/0/plans", json::array(),
         "calls_report.results[0].plans is empty"},
        {"NeitherPlansNorFault", "/results/1", json::object(),
         "calls_report.results[1].plans is missing"},
        {"Both", "/results/0/fault", "it fell over",
         "calls_report.results[0].plans is no member"},
        {"EmptyFault", "/results/1/fault", "", "results[1].fault is empty"},
        {"LongFault", "/results/1/fault", std::string(1025, 'f'),
         "fault is longer than 1024 bytes"},
        {"TooManyPlans", "/results/0/plans", json(65, json::array()),
         "plans is no list of at most 64"},
        {"TextForAPlan", "/results/0/plans/0", "512",
         "has an item that is no list of at most 65536"},
        {"TooManySteps", "/results/0/plans/0", json(65537, 512),
         "has an item that is no list of at most 65536"},
        {"FractionForAStep", "/results/0/plans/0/0", 1.5,
         "has a step that is neither"},
        {"StepAboveTwoToThe60", "/results/0/plans/0/0", (int64_t{1} << 60) + 1,
         "has a step that is neither"},
        {"StepAboveInt64", "/results/0/plans/0/0", UINT64_MAX,
         "has a step that is neither"},
        {"FreeOfWhatIsNot", "/results/0/plans/0/2", -7, "step 2 cannot follow"},
        {"LowestFree", "/results/0/plans/0/2", INT64_MIN,
         "has a step that is neither"},
        {"MoreFreesThanRequests", "/results/0/plans/1", json({0, 0}),
         "step 0 cannot follow"},
        {"FreedTwice", "/results/0/plans/0", json({512, 0, 0}),
         "step 2 cannot follow"},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan::gpu
