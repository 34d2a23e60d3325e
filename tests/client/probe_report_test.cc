#include "client/cli/probe_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/probes_for_tests.h"

namespace memplan {
namespace {

using ::memplan::testing::FoundProbe;
using ::memplan::testing::MakeTrial;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProbeReportTest, TellsThePlanWithTheEvidenceOfEachNumber) {
  EXPECT_EQ(
      ProbeReport(FoundProbe()),
      "largest safe batch  37\n"
      "verified            ran again in 1 fresh process\n"
      "peak requested      1.50 GiB, verified in trial 9\n"
      "peak allocated      1.50 GiB, verified in trial 9\n"
      "peak active         1.50 GiB, verified in trial 9\n"
      "peak reserved       2.00 GiB, measured in trial 3\n"
      "context             512 MiB, verified in trial 9\n"
      "fragmentation       512 MiB, verified in trial 9, 25.0 % of "
      "reserved\n"
      "peak in             step 2 of 4\n"
      "neighbours          35 fits (trial 7), 38 out of memory (trial 6)\n"
      "stopped by          memory: the next batch does not fit\n"
      "found               bisected\n"
      "trials              9, of which 3 ran out of memory\n"
      "took                1 min 23 s\n"
      "ran                 train adam, as eager, on GPU-1, under a cap of "
      "16.0 GiB\n"
      "probe               probe-1\n");
}

TEST(ProbeReportTest, SaysWhatIsUnknownOnTheCpuDevice) {
  v1::Probe probe = FoundProbe();
  probe.mutable_plan()->clear_peak_reserved();
  probe.mutable_plan()->clear_context();
  probe.mutable_plan()->set_peak_step(-1);
  const std::string report = ProbeReport(probe);
  EXPECT_THAT(report,
              HasSubstr("peak reserved       not known on this device\n"));
  EXPECT_THAT(report,
              HasSubstr("context             not known on this device\n"));
  EXPECT_THAT(report, HasSubstr("peak in             the load of the model\n"));
}

TEST(ProbeReportTest, TellsTheSteadyStepApart) {
  v1::Probe probe = FoundProbe();
  v1::Plan& plan = *probe.mutable_plan();
  plan.mutable_steady_peak_allocated()->set_bytes(1 << 30);
  EXPECT_THAT(ProbeReport(probe),
              HasSubstr("steady step         1.00 GiB allocated\n"));
  plan.mutable_steady_peak_reserved()->set_bytes(int64_t{1} << 31);
  EXPECT_THAT(
      ProbeReport(probe),
      HasSubstr("steady step         1.00 GiB allocated, 2.00 GiB reserved\n"));
}

TEST(ProbeReportTest, TellsHowTheProgramWarmedUp) {
  v1::Probe probe = FoundProbe();
  v1::WarmUp& warm_up = *probe.mutable_plan()->mutable_warm_up();
  warm_up.set_steps(1);
  warm_up.set_settled(true);
  warm_up.mutable_steady_step_duration()->set_seconds(2);
  EXPECT_THAT(
      ProbeReport(probe),
      HasSubstr("warm-up             1 step, then steady steps in 2.0 s\n"));
}

TEST(ProbeReportTest, NamesTheStepThatNeededMost) {
  v1::Probe probe = FoundProbe();
  v1::StepOptions& step = *probe.mutable_spec()->mutable_step();
  step.add_also_batches(17);
  step.set_evaluation_batch(64);
  const auto peak_in = [&probe](int index) {
    probe.mutable_plan()->set_peak_step(index);
    return ProbeReport(probe);
  };
  EXPECT_THAT(peak_in(3), HasSubstr("peak in             step 4 of 4\n"));
  EXPECT_THAT(peak_in(4), HasSubstr("the step at batch 17\n"));
  EXPECT_THAT(peak_in(5), HasSubstr("the evaluation at batch 64\n"));
  EXPECT_THAT(peak_in(6), HasSubstr("the step after the others\n"));
}

TEST(ProbeReportTest, TellsHowAStepWasRun) {
  v1::Probe probe = FoundProbe();
  v1::StepOptions& step = *probe.mutable_spec()->mutable_step();
  step.set_autocast(v1::AUTOCAST_BFLOAT16);
  step.set_accumulation_steps(4);
  step.set_loss_model_sha256(std::string(64, 'b'));
  step.set_cudnn_benchmark(true);
  EXPECT_THAT(
      ProbeReport(probe),
      HasSubstr("train adam, as eager, autocast bf16, 4 micro-batches a "
                "step, loss of bbbbbbbbbbbb, cuDNN benchmark, on"));
}

TEST(ProbeReportTest, SaysWhoseOptimizerThePeaksAreOf) {
  v1::Probe probe = FoundProbe();
  probe.mutable_plan()->set_optimizer_implementation(
      v1::OPTIMIZER_IMPLEMENTATION_LIBTORCH);
  EXPECT_THAT(ProbeReport(probe), Not(HasSubstr("optimizer")));
  auto& step = *probe.mutable_spec()->mutable_step();
  step.set_optimizer_implementation(v1::OPTIMIZER_IMPLEMENTATION_FOREACH);
  EXPECT_THAT(ProbeReport(probe),
              HasSubstr("optimizer           the peaks are of libtorch's C++ "
                        "optimizer; those of yours (foreach) may be higher"));
  probe.mutable_plan()->set_optimizer_implementation(
      v1::OPTIMIZER_IMPLEMENTATION_FOREACH);
  EXPECT_THAT(ProbeReport(probe), Not(HasSubstr("libtorch")));
}

TEST(ProbeReportTest, NamesABudget) {
  v1::Probe probe = FoundProbe();
  probe.mutable_spec()->set_budget_bytes(int64_t{8} << 30);
  EXPECT_THAT(ProbeReport(probe), HasSubstr("under a budget of 8.00 GiB\n"));
  probe.mutable_spec()->clear_limit();
  EXPECT_THAT(ProbeReport(probe), HasSubstr("on GPU-1\n"));
}

TEST(ProbeReportTest, NamesLargerBatchesThatAreNotSafe) {
  v1::Probe probe = FoundProbe();
  probe.mutable_plan()->add_unsafe_running_batches(39);
  EXPECT_THAT(ProbeReport(probe),
              HasSubstr("larger, not safe    39 ran although a smaller batch "
                        "failed\n"));
}

TEST(ProbeReportTest, TellsWhyTheSearchWentNoHigher) {
  v1::Probe probe = FoundProbe();
  probe.mutable_plan()->set_limit(v1::SEARCH_LIMIT_MAX_BATCH);
  EXPECT_THAT(ProbeReport(probe), HasSubstr("--max-batch"));
  probe.mutable_plan()->set_limit(v1::SEARCH_LIMIT_OTHER_FAILURE);
  probe.mutable_plan()->set_limit_message("batch 38 timed out");
  EXPECT_THAT(
      ProbeReport(probe),
      HasSubstr("stopped by          not memory: batch 38 timed out\n"));
}

TEST(ProbeReportTest, TellsWhatWasPredicted) {
  v1::Probe probe = FoundProbe();
  v1::Plan& plan = *probe.mutable_plan();
  plan.set_method(v1::PLAN_METHOD_PREDICTED);
  plan.mutable_neighbours(0)->set_trial_number(0);
  v1::Prediction& prediction = *plan.mutable_prediction();
  prediction.mutable_safe()->set_batch(37);
  prediction.mutable_safe()->set_retries_per_step(1);
  prediction.mutable_safe()->set_segments_freed_per_step(4);
  prediction.mutable_comfortable()->set_batch(35);
  prediction.mutable_failing()->set_batch(38);
  v1::PredictedBatch& above = *prediction.add_running_above();
  above.set_batch(40);
  above.set_retries_per_step(2);
  above.set_caught_failures(3);
  prediction.add_recorded_batches(8);
  prediction.add_recorded_batches(32);
  prediction.add_call_batches(37);
  prediction.set_distinct_calls(23);
  const std::string report = ProbeReport(probe);
  EXPECT_THAT(report,
              HasSubstr("comfortable         35: gives no memory back in a "
                        "settled step; 37 has 1 retry and 4 segments given "
                        "back in each step\n"));
  EXPECT_THAT(report,
              HasSubstr("larger, predicted   40 (2 retries and 0 segments "
                        "given back in each step, 3 convolutions with less "
                        "scratch) would run although 38 fails\n"));
  EXPECT_THAT(report, HasSubstr("35 fits (predicted), 38 out of memory"));
  EXPECT_THAT(report,
              HasSubstr("found               predicted from 2 recordings and "
                        "23 operators run alone, then verified\n"));
}

TEST(ProbeReportTest, TellsAnIntervalUnlessARunMadeItAPoint) {
  v1::Probe probe = FoundProbe();
  v1::PeakInterval& interval =
      *probe.mutable_plan()->mutable_prediction()->mutable_safe_interval();
  interval.mutable_allocated()->set_least_bytes(int64_t{3} << 29);
  interval.mutable_allocated()->set_most_bytes(int64_t{2} << 30);
  interval.mutable_reserved()->set_least_bytes(int64_t{4} << 30);
  interval.mutable_reserved()->set_most_bytes(int64_t{5} << 30);
  EXPECT_THAT(ProbeReport(probe),
              HasSubstr("predicted peaks     1.50 GiB to 2.00 GiB allocated, "
                        "4.00 GiB to 5.00 GiB reserved\n"));
  interval.mutable_allocated()->set_least_bytes(int64_t{2} << 30);
  interval.mutable_reserved()->set_least_bytes(int64_t{5} << 30);
  EXPECT_THAT(ProbeReport(probe), Not(HasSubstr("predicted peaks")));
}

TEST(ProbeReportTest, TellsWhyItWasBisected) {
  v1::Probe probe = FoundProbe();
  probe.mutable_plan()->set_fall_back_reason("no two batches ran");
  EXPECT_THAT(ProbeReport(probe),
              HasSubstr("found               bisected, since the prediction "
                        "does not hold: no two batches ran\n"));
}

TEST(ProbeReportTest, SaysThatNothingFits) {
  v1::Probe probe = FoundProbe();
  v1::Plan& plan = *probe.mutable_plan();
  plan.Clear();
  plan.set_verdict(v1::PLAN_VERDICT_DOES_NOT_FIT);
  plan.set_limit_message("the weights alone exceed the cap");
  plan.set_method(v1::PLAN_METHOD_BISECTED);
  plan.set_trial_count(1);
  plan.set_out_of_memory_count(1);
  EXPECT_EQ(ProbeReport(probe),
            "largest safe batch  none: it does not fit at batch 1\n"
            "because             the weights alone exceed the cap\n"
            "found               bisected\n"
            "trials              1, of which 1 ran out of memory\n"
            "took                0 ms\n"
            "ran                 train adam, as eager, on GPU-1, under a cap "
            "of 16.0 GiB\n"
            "probe               probe-1\n");
  EXPECT_EQ(ExitCodeOfProbe(probe), kExitNever);
}

TEST(ProbeReportTest, SaysThatTheBatchIsFixed) {
  v1::Probe probe = FoundProbe();
  probe.mutable_plan()->set_verdict(v1::PLAN_VERDICT_FIXED_BATCH);
  probe.mutable_plan()->set_safe_batch(2);
  EXPECT_THAT(ProbeReport(probe),
              HasSubstr("largest safe batch  2 (fixed batch 2: it is baked "
                        "into the model)\n"));
  EXPECT_THAT(ProbeReport(probe), Not(HasSubstr("stopped by")));
  EXPECT_EQ(ExitCodeOfProbe(probe), kExitDone);
}

v1::Probe ProfileOf(const std::vector<v1::TrialOutcome>& outcomes) {
  v1::Probe probe;
  probe.set_state(v1::PROBE_STATE_SUCCEEDED);
  probe.mutable_spec()->mutable_profile();
  int64_t batch = 1;
  for (const v1::TrialOutcome outcome : outcomes) {
    *probe.add_trials() = MakeTrial(static_cast<int>(batch), batch, outcome);
    batch *= 8;
  }
  return probe;
}

TEST(TrialTableTest, HasARowABatchAndTheWordsOfThoseThatFailed) {
  v1::Probe probe =
      ProfileOf({v1::TRIAL_OUTCOME_FITS, v1::TRIAL_OUTCOME_OUT_OF_MEMORY});
  probe.mutable_trials(0)->mutable_peaks()->set_reserved_bytes(2 << 20);
  probe.mutable_trials(0)->set_context_bytes(3 << 20);
  probe.mutable_trials(0)->set_fragmentation_bytes(1 << 20);
  probe.mutable_trials(1)->set_message("8.00 MiB refused");
  probe.mutable_trials(1)->set_allocation_retries(12);
  EXPECT_EQ(ProbeReport(probe),
            "BATCH  PURPOSE  OUTCOME        REQUESTED  ALLOCATED    ACTIVE  "
            "RESERVED   "
            "CONTEXT  FRAGMENTATION  RETRIES   TOOK\n"
            "    1  profile  fits            1.00 MiB   1.00 MiB  1.00 MiB  "
            "2.00 MiB  "
            "3.00 MiB       1.00 MiB        0  2.0 s\n"
            "    8  profile  out of memory   8.00 MiB   8.00 MiB  8.00 MiB     "
            "    -         "
            "-              -       12  2.0 s\n"
            "batch 8: 8.00 MiB refused\n");
}

struct ProfileCase {
  std::string name;
  std::vector<v1::TrialOutcome> outcomes;
  ExitCode code;
};
class ExitCodeOfProfileCasesTest
    : public ::testing::TestWithParam<ProfileCase> {};

TEST_P(ExitCodeOfProfileCasesTest, GivesTheCode) {
  EXPECT_EQ(ExitCodeOfProbe(ProfileOf(GetParam().outcomes)), GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(
    Outcomes, ExitCodeOfProfileCasesTest,
    ::testing::ValuesIn<ProfileCase>({
        {"AllFit", {v1::TRIAL_OUTCOME_FITS}, kExitDone},
        {"SomeFit",
         {v1::TRIAL_OUTCOME_FITS, v1::TRIAL_OUTCOME_OUT_OF_MEMORY},
         kExitDone},
        {"NoneFits", {v1::TRIAL_OUTCOME_OUT_OF_MEMORY}, kExitNever},
        {"OneTimedOut",
         {v1::TRIAL_OUTCOME_FITS, v1::TRIAL_OUTCOME_TIMED_OUT},
         kExitError},
        {"OneDied", {v1::TRIAL_OUTCOME_WORKER_DIED}, kExitError},
    }),
    [](const auto& test) { return test.param.name; });

TEST(ExitCodeOfProfileTest, IsDecidedByTheLastTrialOfEachBatchAskedFor) {
  v1::Probe probe = ProfileOf(
      {v1::TRIAL_OUTCOME_WORKER_DIED, v1::TRIAL_OUTCOME_OUT_OF_MEMORY});
  *probe.add_trials() = MakeTrial(3, 1, v1::TRIAL_OUTCOME_OUT_OF_MEMORY);
  *probe.add_trials() = MakeTrial(4, 1, v1::TRIAL_OUTCOME_FITS);
  probe.mutable_trials(3)->set_purpose(v1::TRIAL_PURPOSE_CALIBRATE);
  EXPECT_EQ(ExitCodeOfProbe(probe), kExitNever);
}

TEST(ExitCodeOfProbeTest, IsAnErrorForWhatDidNotSucceed) {
  v1::Probe probe = FoundProbe();
  EXPECT_EQ(ExitCodeOfProbe(probe), kExitDone);
  probe.set_state(v1::PROBE_STATE_CANCELLED);
  EXPECT_EQ(ExitCodeOfProbe(probe), kExitError);
}

}  // namespace
}  // namespace memplan
