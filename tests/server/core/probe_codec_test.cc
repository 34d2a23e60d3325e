#include "server/store/probe_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/server/core/sample_probe.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::SampleProbe;
using ::memplan::testing::StatusIs;
using ::testing::HasSubstr;

Probe RoundTrip(const Probe& probe) {
  const auto again = DecodeProbe(EncodeProbe(probe));
  EXPECT_THAT(again, IsOk());
  return again.value_or(Probe{});
}

void ExpectEqual(const ProbeSpec& a, const ProbeSpec& b) {
  EXPECT_EQ(a.model_sha256, b.model_sha256);
  EXPECT_EQ(a.device_id, b.device_id);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.dimensions, b.dimensions);
  EXPECT_EQ(a.mode, b.mode);
  EXPECT_EQ(a.optimizer, b.optimizer);
  EXPECT_EQ(a.run_as, b.run_as);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.loss_model_sha256, b.loss_model_sha256);
  EXPECT_EQ(a.optimizer_implementation, b.optimizer_implementation);
  EXPECT_EQ(a.limit.cap, b.limit.cap);
  EXPECT_EQ(a.limit.budget, b.limit.budget);
  EXPECT_EQ(a.trial_timeout, b.trial_timeout);
  EXPECT_EQ(a.method, b.method);
}

void ExpectEqual(const PredictedBatch& a, const PredictedBatch& b) {
  EXPECT_EQ(a.batch, b.batch);
  EXPECT_EQ(a.knowledge, b.knowledge);
  EXPECT_EQ(a.outcome.failed_request, b.outcome.failed_request);
  EXPECT_EQ(a.outcome.peaks, b.outcome.peaks);
  EXPECT_EQ(a.outcome.retries, b.outcome.retries);
  EXPECT_EQ(a.outcome.segments_freed, b.outcome.segments_freed);
  EXPECT_EQ(a.outcome.steady_retries, b.outcome.steady_retries);
  EXPECT_EQ(a.outcome.steady_segments_freed, b.outcome.steady_segments_freed);
  EXPECT_EQ(a.outcome.caught_failures, b.outcome.caught_failures);
}

void ExpectEqual(const PredictedAnswer& a, const PredictedAnswer& b) {
  ExpectEqual(a.safe, b.safe);
  EXPECT_EQ(a.safe_interval, b.safe_interval);
  ExpectEqual(a.comfortable, b.comfortable);
  ExpectEqual(a.failing, b.failing);
  ASSERT_EQ(a.running_above.size(), b.running_above.size());
  for (size_t i = 0; i < a.running_above.size(); ++i) {
    ExpectEqual(a.running_above[i], b.running_above[i]);
  }
  EXPECT_EQ(a.checked_from, b.checked_from);
  EXPECT_EQ(a.checked_to, b.checked_to);
  EXPECT_EQ(a.replays, b.replays);
  EXPECT_EQ(a.recorded_batches, b.recorded_batches);
  EXPECT_EQ(a.call_batches, b.call_batches);
  EXPECT_EQ(a.irregular_calls, b.irregular_calls);
  EXPECT_EQ(a.distinct_calls, b.distinct_calls);
}

void ExpectEqual(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.answer, b.answer);
  EXPECT_EQ(a.verified, b.verified);
  EXPECT_EQ(a.peak_requested, b.peak_requested);
  EXPECT_EQ(a.peak_allocated, b.peak_allocated);
  EXPECT_EQ(a.peak_active, b.peak_active);
  EXPECT_EQ(a.peak_reserved, b.peak_reserved);
  EXPECT_EQ(a.steady_peak_allocated, b.steady_peak_allocated);
  EXPECT_EQ(a.steady_peak_reserved, b.steady_peak_reserved);
  EXPECT_EQ(a.warm_up, b.warm_up);
  EXPECT_EQ(a.context, b.context);
  EXPECT_EQ(a.fragmentation, b.fragmentation);
  EXPECT_EQ(a.fragmentation_ratio, b.fragmentation_ratio);
  EXPECT_EQ(a.peak_step, b.peak_step);
  EXPECT_EQ(a.neighbours, b.neighbours);
  EXPECT_EQ(a.fall_back_reason, b.fall_back_reason);
  EXPECT_EQ(a.recording_trials, b.recording_trials);
  ASSERT_EQ(a.predicted.has_value(), b.predicted.has_value());
  if (a.predicted) ExpectEqual(*a.predicted, *b.predicted);
  EXPECT_EQ(a.trial_count, b.trial_count);
  EXPECT_EQ(a.out_of_memory_count, b.out_of_memory_count);
  EXPECT_EQ(a.seconds, b.seconds);
}

TEST(ProbeCodecTest, KeepsEveryField) {
  const Probe probe = SampleProbe("p1");
  const Probe again = RoundTrip(probe);
  EXPECT_EQ(again.id, "p1");
  EXPECT_EQ(again.request_id, "request p1");
  ExpectEqual(again.spec, probe.spec);
  const auto& search = std::get<SearchOptions>(again.spec.task);
  EXPECT_EQ(search.first_batch, 16);
  EXPECT_EQ(search.max_batch, 4096);
  EXPECT_EQ(search.repeat, 3);
  EXPECT_EQ(again.state, ProbeState::kSucceeded);
  EXPECT_EQ(again.create_time, probe.create_time);
  EXPECT_EQ(again.start_time, probe.start_time);
  EXPECT_EQ(again.end_time, probe.end_time);
  EXPECT_EQ(again.trials, probe.trials);
  ASSERT_TRUE(again.plan);
  ExpectEqual(*again.plan, *probe.plan);
  ASSERT_TRUE(again.error);
  EXPECT_EQ(again.error->code, absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(again.error->reason, "WORKER_UNUSABLE");
  EXPECT_EQ(again.error->message, "it is gone");
  EXPECT_EQ(again.error->field, "spec.mode");
  EXPECT_EQ(again.restart_count, 2);
  EXPECT_EQ(again.version, int64_t{1} << 50);
}

TEST(ProbeCodecTest, KeepsWhatIsUnsetUnset) {
  Probe probe;
  probe.id = "bare";
  probe.spec.task = ProfileTask{{1, 2, 4}};
  probe.spec.limit.cap = GiB(1);
  const Probe again = RoundTrip(probe);
  EXPECT_EQ(std::get<ProfileTask>(again.spec.task).batches,
            (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(again.spec.limit.cap, GiB(1));
  EXPECT_FALSE(again.spec.limit.budget);
  EXPECT_FALSE(again.start_time);
  EXPECT_FALSE(again.end_time);
  EXPECT_FALSE(again.plan);
  EXPECT_FALSE(again.error);
  EXPECT_TRUE(again.trials.empty());
}

TEST(ProbeCodecTest, LeavesProgressAndPlaceInTheQueueOut) {
  Probe probe = SampleProbe("p1");
  probe.progress = ProbeProgress{};
  probe.queue_position = 3;
  const Probe again = RoundTrip(probe);
  EXPECT_FALSE(again.progress);
  EXPECT_EQ(again.queue_position, 0);
}

TEST(ProbeCodecTest, KeepsEveryValueOfEveryEnumeration) {
  Probe probe = SampleProbe("p1");
  for (int value = 0; value < 10; ++value) {
    probe.spec.inputs[0].dtype = static_cast<DType>(value);
    probe.spec.inputs[0].fill.kind = static_cast<FillKind>(value % 4);
    probe.spec.mode = static_cast<gpu::Mode>(value % 3);
    probe.spec.optimizer = static_cast<gpu::Optimizer>(value % 5);
    probe.spec.run_as = static_cast<gpu::RunAs>(value % 2);
    probe.state = static_cast<ProbeState>(value % 5);
    probe.trials[0].purpose = static_cast<TrialPurpose>(value % 5);
    probe.trials[0].outcome = static_cast<TrialOutcome>(value % 6);
    probe.plan->answer.end = static_cast<SearchEnd>(value % 4);
    probe.plan->answer.limit = static_cast<SearchLimit>(value % 3);
    probe.plan->context->provenance = static_cast<Provenance>(value % 3);
    const Probe again = RoundTrip(probe);
    ExpectEqual(again.spec, probe.spec);
    EXPECT_EQ(again.state, probe.state);
    EXPECT_EQ(again.trials, probe.trials);
    ExpectEqual(*again.plan, *probe.plan);
  }
}

TEST(ProbeCodecTest, ReplacesBytesThatAreNoText) {
  Probe probe = SampleProbe("p1");
  probe.trials[0].message = "bad \xff byte";
  EXPECT_EQ(RoundTrip(probe).trials[0].message, "bad \xef\xbf\xbd byte");
}

TEST(ProbeCodecTest, RefusesEveryTruncatedRecord) {
  const std::string record = EncodeProbe(SampleProbe("p1"));
  for (size_t size = 0; size < record.size(); size += 7) {
    EXPECT_THAT(DecodeProbe(record.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST(ProbeCodecTest, ReadsPlansOfBeforeIntervalsWereNamed) {
  auto record = nlohmann::json::parse(EncodeProbe(SampleProbe("p1")));
  ASSERT_EQ(record.at("plan").at("predicted").erase("safe_interval"), 1);
  const auto probe = DecodeProbe(record.dump());
  ASSERT_THAT(probe, IsOk());
  ASSERT_TRUE(probe->plan && probe->plan->predicted);
  EXPECT_EQ(probe->plan->predicted->safe.batch, 95);
  EXPECT_FALSE(probe->plan->predicted->safe_interval);
}

TEST(ProbeCodecTest, RefusesARecordWithoutOneOfItsMembers) {
  const auto whole = nlohmann::json::parse(EncodeProbe(SampleProbe("p1")));
  for (const char* key : {"id", "request_id", "spec", "state", "trials",
                          "create_time_ns", "restart_count", "version"}) {
    nlohmann::json part = whole;
    part.erase(key);
    EXPECT_THAT(DecodeProbe(part.dump()),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(key)));
  }
}

TEST(ProbeCodecTest, RefusesWordsAndCodesThatItDoesNotKnow) {
  auto record = nlohmann::json::parse(EncodeProbe(SampleProbe("p1")));
  record["error"]["code"] = 99;
  EXPECT_THAT(DecodeProbe(record.dump()),
              StatusIs(absl::StatusCode::kDataLoss));
  record["error"]["code"] = 9;
  record["state"] = "dreaming";
  EXPECT_THAT(DecodeProbe(record.dump()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("dreaming")));
  for (const char* text : {"", "[]", "null", "7", "{}"}) {
    EXPECT_THAT(DecodeProbe(text), StatusIs(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace memplan
