#include "server/admission/plan_needs.h"

#include <gtest/gtest.h>

#include <string>

namespace memplan {
namespace {

const std::string kModel(64, 'a');

Device Card(const std::string& id, const std::string& name) {
  Device device;
  device.id = id;
  device.display_name = name;
  device.total = GiB(140);
  device.driver_version = "570.1";
  return device;
}

Trial FittingTrial(int64_t batch, Bytes reserved, Bytes context) {
  Trial trial;
  trial.batch = batch;
  trial.steps.resize(1);
  trial.steps[0].peaks.reserved = reserved;
  trial.context = context;
  return trial;
}

Probe TrainingProbe(const std::string& id) {
  Probe probe;
  probe.id = id;
  probe.spec.model_sha256 = kModel;
  probe.spec.device_id = "GPU-a";
  probe.spec.mode = gpu::Mode::kTrain;
  probe.spec.optimizer = gpu::Optimizer::kAdam;
  probe.device_identity =
      "GPU-a, NVIDIA H200, 150323855360 bytes, driver 570.1";
  probe.state = ProbeState::kSucceeded;
  probe.trials = {FittingTrial(8, GiB(10), MiB(500)),
                  FittingTrial(32, GiB(40), MiB(600))};
  probe.trials.push_back(FittingTrial(32, GiB(41), MiB(600)));
  probe.trials.back().purpose = TrialPurpose::kVerify;
  Trial failed = FittingTrial(33, GiB(90), MiB(600));
  failed.outcome = TrialOutcome::kOutOfMemory;
  probe.trials.push_back(failed);
  return probe;
}

VerdictReason WhyNot(const FoundNeed& found) {
  return std::get<VerdictReason>(found);
}

TEST(PlanNeedsTest, CountReservedMemoryAndContextOfWhatRan) {
  PlanNeeds needs;
  needs.Add(TrainingProbe("probe-1"));
  const auto found = needs.Find({.model_sha256 = kModel, .batch = 32},
                                Card("GPU-a", "NVIDIA H200"));
  const Need& need = std::get<Need>(found);
  EXPECT_EQ(need.least, GiB(40) + MiB(600));
  EXPECT_EQ(need.most, GiB(41) + MiB(600));
  EXPECT_EQ(need.source, NeedSource::kVerified);
  EXPECT_EQ(need.plan_id, "probe-1");
}

TEST(PlanNeedsTest, HoldForDevicesOfTheSameTypeAlone) {
  PlanNeeds needs;
  needs.Add(TrainingProbe("probe-1"));
  const ModelNeed job = {.model_sha256 = kModel, .batch = 8};
  EXPECT_TRUE(std::holds_alternative<Need>(
      needs.Find(job, Card("GPU-b", "NVIDIA H200"))));
  EXPECT_EQ(WhyNot(needs.Find(job, Card("GPU-c", "NVIDIA L4"))),
            VerdictReason::kNoPlan);
}

TEST(PlanNeedsTest, HoldForATypeWhoseTotalTheDriverDoesNotTell) {
  PlanNeeds needs;
  Probe probe = TrainingProbe("probe-1");
  probe.device_identity = "GPU-a, NVIDIA, spark, , driver 570.1";
  needs.Add(probe);
  const ModelNeed job = {.model_sha256 = kModel, .batch = 8};
  Device other = Card("GPU-b", "NVIDIA, spark");
  EXPECT_EQ(WhyNot(needs.Find(job, other)), VerdictReason::kNoPlan);
  other.total.reset();
  EXPECT_TRUE(std::holds_alternative<Need>(needs.Find(job, other)));
}

TEST(PlanNeedsTest, SayWhatIsNotKnown) {
  PlanNeeds needs;
  needs.Add(TrainingProbe("probe-1"));
  const Device card = Card("GPU-a", "NVIDIA H200");
  EXPECT_EQ(WhyNot(needs.Find({.model_sha256 = kModel, .batch = 33}, card)),
            VerdictReason::kBatchNotMeasured);
  EXPECT_EQ(WhyNot(needs.Find(
                {.model_sha256 = kModel, .batch = 8, .mode = gpu::Mode::kInfer},
                card)),
            VerdictReason::kNoPlan);
  Probe inference = TrainingProbe("probe-2");
  inference.spec.mode = gpu::Mode::kInfer;
  inference.spec.optimizer = gpu::Optimizer::kNone;
  needs.Add(inference);
  EXPECT_EQ(WhyNot(needs.Find({.model_sha256 = kModel, .batch = 8}, card)),
            VerdictReason::kPlanAmbiguous);
  EXPECT_TRUE(std::holds_alternative<Need>(needs.Find(
      {.model_sha256 = kModel, .batch = 8, .mode = gpu::Mode::kInfer}, card)));
}

}  // namespace
}  // namespace memplan
