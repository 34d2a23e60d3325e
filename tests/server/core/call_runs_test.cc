// How workers share operator calls, and what becomes of the share of one that is
// lost.
#include "server/jobs/call_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::chrono::minutes kTimeout{1};

// Tells of the call named by a number a plan of so many bytes, and notes it.
class SharingSession : public WorkerSession {
 public:
  void Prepare(const TrialOrder& /*order*/, Rehearsal /*rehearsal*/) override {}
  absl::StatusOr<PreparedWorker> WaitUntilPrepared() override {
    if (!preparation.ok()) return preparation;
    return PreparedWorker{{"card", "1", "9"}, "2"};
  }
  absl::StatusOr<TrialResult> Run(
      const TrialOrder& /*order*/,
      const OnWorkerProgress& /*on_progress*/) override {
    return absl::UnimplementedError("no trials here");
  }
  absl::StatusOr<gpu::CallsReport> RunCalls(const CallsOrder& order) override {
    if (!answer.ok()) return answer;
    gpu::CallsReport report;
    for (const DistinctCall& call : order.calls.calls) {
      ran.push_back(call.operator_name);
      report.results.push_back({{PlanOf(call.operator_name)}, ""});
    }
    return report;
  }
  void End() override {}
  bool TakesOrders() const override { return true; }

  static CallPlan PlanOf(const std::string& name) {
    return {{0, 512 * std::stoll(name)}};
  }

  absl::Status preparation;
  absl::Status answer;
  std::vector<std::string> ran;
};

std::vector<DistinctCall> Numbered(int count) {
  std::vector<DistinctCall> calls(count);
  for (int i = 0; i < count; ++i) calls[i].operator_name = absl::StrCat(i + 1);
  return calls;
}

class CallRunsTest : public ::testing::Test {
 protected:
  absl::Status Run() {
    return runs_.Run(calls_, {&first_, &second_, &third_}, kTimeout);
  }
  // Every call has its own plan.
  void ExpectAllKnown() {
    const auto plans = runs_.Take();
    ASSERT_EQ(plans.size(), calls_.size());
    for (size_t i = 0; i < calls_.size(); ++i) {
      EXPECT_THAT(plans[i],
                  ElementsAre(SharingSession::PlanOf(calls_[i].operator_name)));
    }
  }

  std::vector<DistinctCall> calls_ = Numbered(9);
  CallRuns runs_{nullptr, std::nullopt, ""};
  SharingSession first_;
  SharingSession second_;
  SharingSession third_;
};

TEST_F(CallRunsTest, WorkersShareTheCallsInTurns) {
  ASSERT_THAT(Run(), IsOk());
  EXPECT_THAT(first_.ran, ElementsAre("1", "3", "5", "7", "9"));
  EXPECT_THAT(second_.ran, ElementsAre("2", "4", "6", "8"));
  EXPECT_THAT(third_.ran, IsEmpty());  // nine are no three shares of four
  ExpectAllKnown();
}

TEST_F(CallRunsTest, FewCallsAreTheFirstWorkersAlone) {
  calls_ = Numbered(7);
  ASSERT_THAT(Run(), IsOk());
  EXPECT_EQ(first_.ran.size(), 7u);
  EXPECT_THAT(second_.ran, IsEmpty());
  ExpectAllKnown();
}

TEST_F(CallRunsTest, TheFirstRunsTheShareOfAWorkerThatIsLost) {
  second_.answer = absl::UnavailableError("killed by signal 9");
  ASSERT_THAT(Run(), IsOk());
  EXPECT_THAT(first_.ran,
              ElementsAre("1", "3", "5", "7", "9", "2", "4", "6", "8"));
  ExpectAllKnown();
}

TEST_F(CallRunsTest, AWorkerThatWasNotPreparedIsPassedOver) {
  second_.preparation = absl::UnavailableError("it ran out of memory");
  ASSERT_THAT(Run(), IsOk());
  EXPECT_THAT(second_.ran, IsEmpty());
  ExpectAllKnown();
}

TEST_F(CallRunsTest, WhatOthersToldIsNotAskedAgainAfterTheFirstWasLost) {
  first_.answer = absl::UnavailableError("killed by signal 9");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable));
  first_.answer = absl::OkStatus();
  ASSERT_THAT(Run(), IsOk());
  EXPECT_THAT(first_.ran, ElementsAre("1", "3", "5", "7", "9"));
  ExpectAllKnown();
}

}  // namespace
}  // namespace memplan
