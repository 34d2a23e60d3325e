// A job queue on fakes, with calls that wait for its callbacks.
#ifndef MEMPLAN_TESTS_SERVER_CORE_PROBE_JOBS_FIXTURE_H_
#define MEMPLAN_TESTS_SERVER_CORE_PROBE_JOBS_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/jobs/probe_jobs.h"
#include "tests/server/core/fake_stores.h"
#include "tests/server/core/fake_trial_runner.h"
#include "tests/support/status_matchers.h"

namespace memplan::testing {

class ProbeJobsFixture : public ::testing::Test {
 protected:
  using ProbePtr = ProbeJobs::ProbePtr;

  // Starts on what the store holds; batches up to `largest` fit.
  void Start(int64_t largest = 5, ProbeJobs::Options options = {}) {
    Start(FakeTrialRunner::FitsUpTo(largest), options);
  }
  void Start(FakeTrialRunner::Outcome outcome,
             ProbeJobs::Options options = {}) {
    runner_ = std::make_unique<FakeTrialRunner>(std::move(outcome));
    Restart(options);
  }
  // As Start, with every trial held from the first.
  void StartHolding() {
    runner_ = std::make_unique<FakeTrialRunner>(FakeTrialRunner::FitsUpTo(5));
    runner_->HoldTrials();
    Restart();
  }
  // Starts on what the store holds, with the same runner.
  void Restart(ProbeJobs::Options options = {}) {
    jobs_.reset();
    auto jobs = ProbeJobs::Start(options, store_, models_, *runner_);
    ASSERT_THAT(jobs, IsOk());
    jobs_ = *std::move(jobs);
  }

  static ProbeSpec Profile(std::vector<int64_t> batches,
                           std::string device = "GPU-1") {
    ProbeSpec spec;
    spec.model_sha256 = "m";
    spec.device_id = std::move(device);
    spec.task = ProfileTask{std::move(batches)};
    return spec;
  }

  absl::StatusOr<ProbePtr> Create(ProbeSpec spec, std::string request_id = "") {
    std::promise<absl::StatusOr<ProbePtr>> done;
    jobs_->Create(
        std::move(spec), std::move(request_id),
        [&](absl::StatusOr<ProbePtr> probe) { done.set_value(probe); });
    return done.get_future().get();
  }
  // Creates a probe that must be taken, and returns its id.
  std::string CreateId(ProbeSpec spec, std::string request_id = "") {
    const auto probe = Create(std::move(spec), std::move(request_id));
    EXPECT_THAT(probe, IsOk());
    return probe.ok() ? (*probe)->id : "";
  }
  absl::StatusOr<ProbePtr> Cancel(const std::string& id) {
    std::promise<absl::StatusOr<ProbePtr>> done;
    jobs_->Cancel(
        id, [&](absl::StatusOr<ProbePtr> probe) { done.set_value(probe); });
    return done.get_future().get();
  }
  absl::Status Delete(const std::string& id) {
    std::promise<absl::Status> done;
    jobs_->Delete(id, [&](absl::Status status) { done.set_value(status); });
    return done.get_future().get();
  }

  // The first version of the probe for which `reached` is true.
  ProbePtr WaitUntil(const std::string& id,
                     const std::function<bool(const Probe&)>& reached) {
    std::promise<ProbePtr> found;
    bool was_found = false;
    const auto handle = jobs_->Watch(id, [&](const ProbePtr& probe) {
      if (was_found || (probe && !reached(*probe))) return;
      was_found = true;
      found.set_value(probe);
    });
    if (handle == nullptr) return nullptr;
    return found.get_future().get();
  }
  ProbePtr WaitForEnd(const std::string& id) {
    return WaitUntil(id,
                     [](const Probe& probe) { return HasEnded(probe.state); });
  }
  // Waits until the probe's trial `number` runs.
  ProbePtr WaitForTrial(const std::string& id, int number) {
    return WaitUntil(id, [number](const Probe& probe) {
      return probe.progress && probe.progress->trial_number == number;
    });
  }

  FakeProbeStore store_;
  FakeModelStore models_{{"m"}};
  std::unique_ptr<FakeTrialRunner> runner_;
  std::unique_ptr<ProbeJobs> jobs_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_PROBE_JOBS_FIXTURE_H_
