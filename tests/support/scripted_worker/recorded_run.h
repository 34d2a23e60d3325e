// What a real worker recorded, told again by the scripted one. A folder with
//
//   16.trace or 16.trace.xz   the trace of batch 16, as the store keeps it
//   calls.json, or .xz        [{"order": run_calls, "report": calls_report}, …],
//                             the messages as they went over the channel
//   reports.json, or .xz      the same of trials: [{"order": run, "report":
//                             report}, …], the first of each batch
//
// A batch that has no trace is run without one, as the script has it. One that
// has a trace and no report fits if the script does not say otherwise, with
// peaks from the trace: its allocated ones lack what a block is too large by.
#ifndef MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_RECORDED_RUN_H_
#define MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_RECORDED_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda/worker/messages/messages.h"
#include "planner/plan/trial.h"

namespace memplan::testing {

class RecordedRun {
 public:
  // None if there is no trace of `batch`. Ends the process with a message if it
  // cannot be read.
  static std::optional<RecordedRun> Read(const std::string& folder,
                                         int64_t batch);

  // As the trace has them; those of the last step for steps it has not.
  const Peaks& load_peaks() const { return phases_.front(); }
  const Peaks& step_peaks(int step) const;

  void WriteTrace(int descriptor) const;

 private:
  explicit RecordedRun(std::string trace);

  std::string trace_;
  std::vector<Peaks> phases_;  // load, then each step
};

// What the worker said of its trial of `batch`; none if that was not recorded.
std::optional<gpu::Report> RecordedReport(const std::string& folder,
                                          int64_t batch);

// For each call what was recorded, or that nothing was.
gpu::CallsReport RecordedResults(const std::string& folder,
                                 const gpu::RunCalls& order);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_RECORDED_RUN_H_
