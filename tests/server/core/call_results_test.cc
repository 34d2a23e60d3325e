#include "server/store/call_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

const CallPlace kH200{"NVIDIA H200", "580.1", "9.10", "2.11.0"};

DistinctCall ConvolutionAt(int64_t batch) {
  DistinctCall call;
  call.operator_name = "aten::convolution";
  call.has_signature = true;
  call.arguments.push_back({ArgumentKind::kTensor,
                            false,
                            "float32",
                            {batch, 3, 3 /* strides */, 1}});
  return call;
}

// As it likes, and with less scratch. Numbers of one to seven bytes.
const KeptPlans kPlans = {{{0, 100}, {1, int64_t{5} << 40}, {1, 0}, {0, 0}},
                          {{0, 100}, {1, 70'000}, {1, 0}}};
const KeptPlans kOtherPlans = {{{0, 512}}};

class CallResultsTest : public ::testing::Test {
 protected:
  CallResultsTest() { Open(); }

  void Open(int64_t most = kMostCallResults) {
    results_.reset();
    database_.reset();
    auto database = Database::Open(temp_.Path("db"));
    ASSERT_THAT(database, IsOk());
    database_ = *std::move(database);
    auto results = OpenCallResults(*database_, most);
    ASSERT_THAT(results, IsOk());
    results_ = *std::move(results);
  }

  TempDir temp_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<CallResults> results_;
};

TEST_F(CallResultsTest, KeepsThemOverRestarts) {
  results_->Keep(kH200, {ConvolutionAt(8), ConvolutionAt(9)},
                 {kPlans, kOtherPlans});
  Open();
  EXPECT_THAT(
      results_->Find(kH200,
                     {ConvolutionAt(9), ConvolutionAt(7), ConvolutionAt(8)}),
      ElementsAre(Optional(kOtherPlans), Eq(std::nullopt), Optional(kPlans)));
  EXPECT_EQ(results_->Counts().hits, 2);
  EXPECT_EQ(results_->Counts().misses, 1);
  EXPECT_EQ(results_->Counts().kept, 2);
}

TEST_F(CallResultsTest, KnowsThemWhereTheyRanAlone) {
  results_->Keep(kH200, {ConvolutionAt(8)}, {kPlans});
  for (std::string CallPlace::*member :
       {&CallPlace::device_name, &CallPlace::driver_version,
        &CallPlace::cudnn_version, &CallPlace::torch_version,
        &CallPlace::switches}) {
    CallPlace other = kH200;
    other.*member += "1";
    EXPECT_THAT(results_->Find(other, {ConvolutionAt(8)}),
                ElementsAre(Eq(std::nullopt)));
  }
  DistinctCall other = ConvolutionAt(8);
  other.overload = "out";
  EXPECT_THAT(results_->Find(kH200, {other}), ElementsAre(Eq(std::nullopt)));
}

TEST_F(CallResultsTest, KeepsNothingOfACallThatCouldNotBeRunOrLies) {
  const KeptPlans absurd = {{{0, int64_t{1} << 59}}};
  results_->Keep(kH200, {ConvolutionAt(8), ConvolutionAt(9)}, {{}, absurd});
  EXPECT_EQ(results_->Counts().kept, 0);
}

TEST_F(CallResultsTest, TakesTheLatest) {
  results_->Keep(kH200, {ConvolutionAt(8)}, {kPlans});
  results_->Keep(kH200, {ConvolutionAt(8)}, {kOtherPlans});
  EXPECT_THAT(results_->Find(kH200, {ConvolutionAt(8)}),
              ElementsAre(Optional(kOtherPlans)));
  EXPECT_EQ(results_->Counts().kept, 1);
}

TEST_F(CallResultsTest, DropsThoseUsedTheLongestAgo) {
  Open(2);
  results_->Keep(kH200, {ConvolutionAt(1)}, {kPlans});
  results_->Keep(kH200, {ConvolutionAt(2)}, {kPlans});
  (void)results_->Find(kH200, {ConvolutionAt(1)});
  Open(2);
  results_->Keep(kH200, {ConvolutionAt(3)}, {kPlans});
  EXPECT_THAT(
      results_->Find(kH200,
                     {ConvolutionAt(1), ConvolutionAt(2), ConvolutionAt(3)}),
      ElementsAre(Optional(kPlans), Eq(std::nullopt), Optional(kPlans)));
  EXPECT_EQ(results_->Counts().dropped, 1);
}

}  // namespace
}  // namespace memplan
