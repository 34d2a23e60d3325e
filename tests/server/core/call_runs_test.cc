// How workers share operator calls, and what becomes of the share of one that is
// lost.
#include "server/jobs/call_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::chrono::minutes kTimeout{1};

// Tells of the call named by a number a plan of so many bytes, and notes it.
class SharingSession : public WorkerSession {
 public:
  void Prepare(const TrialOrder& /*order*/,
               gpu::Preparation /*preparation*/) override {}
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
    ++orders;
    if (before) before();
    if (!answer.ok()) return answer;
    gpu::CallsReport report;
    for (const DistinctCall& call : order.calls.calls) {
      ran.push_back(call.operator_name);
      report.results.push_back({{PlanOf(call.operator_name)}, ""});
    }
    return report;
  }
  void End() override {}
  void Interrupt() override {}
  bool TakesOrders() const override { return true; }

  static CallPlan PlanOf(const std::string& name) {
    return {{0, 512 * std::stoll(name)}};
  }

  absl::Status preparation;
  std::function<void()> before;  // each order's answer
  absl::Status answer;
  int orders = 0;
  std::vector<std::string> ran;
};

std::vector<DistinctCall> Numbered(int count) {
  std::vector<DistinctCall> calls(count);
  for (int i = 0; i < count; ++i) calls[i].operator_name = absl::StrCat(i + 1);
  return calls;
}

class CallRunsTest : public ::testing::Test {
 protected:
  absl::Status RunAll() {
    return runs_.Run(calls_, {&first_, &second_}, kTimeout);
  }
  // Neither answers an order before the other has one.
  void BothTakeOne() {
    const auto meet = [](absl::Notification& mine, absl::Notification& other) {
      if (!mine.HasBeenNotified()) mine.Notify();
      other.WaitForNotification();
    };
    first_.before = [this, meet] { meet(first_took_, second_took_); };
    second_.before = [this, meet] { meet(second_took_, first_took_); };
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

  std::vector<DistinctCall> calls_ = Numbered(10);
  CallRuns runs_{nullptr, std::nullopt, ""};
  SharingSession first_;
  SharingSession second_;
  absl::Notification first_took_;
  absl::Notification second_took_;
};

TEST_F(CallRunsTest, WorkersShareTheCalls) {
  BothTakeOne();
  ASSERT_THAT(RunAll(), IsOk());
  EXPECT_THAT(first_.ran, Not(IsEmpty()));
  EXPECT_THAT(second_.ran, Not(IsEmpty()));
  EXPECT_EQ(first_.ran.size() + second_.ran.size(), calls_.size());
  ExpectAllKnown();
}

TEST_F(CallRunsTest, OneWorkerIsGivenAllAtOnce) {
  ASSERT_THAT(runs_.Run(calls_, {&first_}, kTimeout), IsOk());
  EXPECT_EQ(first_.orders, 1);
  ExpectAllKnown();
}

TEST_F(CallRunsTest, TheFirstRunsWhatAWorkerHadThatIsLost) {
  BothTakeOne();
  second_.answer = absl::UnavailableError("killed by signal 9");
  ASSERT_THAT(RunAll(), IsOk());
  EXPECT_EQ(first_.ran.size(), calls_.size());
  ExpectAllKnown();
}

TEST_F(CallRunsTest, AWorkerThatWasNotPreparedIsPassedOver) {
  second_.preparation = absl::UnavailableError("it ran out of memory");
  ASSERT_THAT(RunAll(), IsOk());
  EXPECT_THAT(second_.ran, IsEmpty());
  ExpectAllKnown();
}

TEST_F(CallRunsTest, WhatOthersToldIsNotAskedAgainAfterTheFirstWasLost) {
  BothTakeOne();
  first_.answer = absl::UnavailableError("killed by signal 9");
  EXPECT_THAT(RunAll(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(second_.ran, SizeIs(AnyOf(6, 8)));  // but for what the first had
  first_.answer = absl::OkStatus();
  ASSERT_THAT(RunAll(), IsOk());
  EXPECT_EQ(first_.ran.size() + second_.ran.size(), calls_.size());
  ExpectAllKnown();
}

}  // namespace
}  // namespace memplan
