// Runs a whole fast search against a device that is a program's traces: asks
// FastSearch, does what it says, tells it, and bisects with batch_search where it
// falls back, as the daemon does.
#ifndef MEMPLAN_TESTS_PLANNER_PLAN_FAST_SEARCH_RUN_H_
#define MEMPLAN_TESTS_PLANNER_PLAN_FAST_SEARCH_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/plan/fast_search.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/trace.h"

namespace memplan::testing {

// A program on a device without surprises but those of the program itself.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  // Of a run that gets through.
  virtual Trace TraceAt(int64_t batch) const = 0;
  // Its requests, where they can be had for less.
  virtual RequestStream StreamAt(int64_t batch) const {
    return StreamOf(TraceAt(batch));
  }
  virtual CallPlansOrNone RunCall(const DistinctCall& call) const = 0;
};

// A program under one cap.
class CappedDevice {
 public:
  CappedDevice(const DeviceProgram& program, std::optional<Bytes> cap)
      : program_(program), cap_(cap) {}

  const DeviceProgram& program() const { return program_; }
  std::optional<Bytes> cap() const { return cap_; }
  // Whether the batch's own trace gets through; each is replayed once.
  bool Runs(int64_t batch) const;
  // The largest that runs with all smaller ones, up to `max_batch`.
  int64_t SafeBatch(int64_t max_batch) const;

 private:
  const DeviceProgram& program_;
  std::optional<Bytes> cap_;
  mutable std::map<int64_t, bool> runs_;
};

struct FastRun {
  SearchAnswer answer;
  std::vector<Trial> trials;  // those of a bisection included
  std::string fell_back;      // why; empty: it did not
  std::vector<int64_t> call_batches;
  int64_t calls_run = 0;
  std::optional<PredictedAnswer> predicted;
  // As it stood before each verifying run of its safe batch, and where the daemon
  // would have begun that run, beside the last calls.
  std::vector<PredictedAnswer> foretold;
  // What the search's decisions took of the processor.
  int64_t decisions = 0;
  double decision_seconds = 0;

  std::vector<int64_t> Batches() const;
  int64_t OutOfMemoryCount() const;
};

// What becomes of a trial, where that is not what the traces say; `nth` counts
// the trials of its batch from 0.
using TrialFate =
    std::function<std::optional<Trial>(int64_t batch, TrialPurpose, int nth)>;

FastRun RunFastSearch(const FastSearchOptions& options,
                      const CappedDevice& device, const TrialFate& fate = {});

// Goes on with `search`, which may have been fed before.
FastRun RunFastSearch(FastSearch& search, const FastSearchOptions& options,
                      const CappedDevice& device, const TrialFate& fate = {});

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_PLAN_FAST_SEARCH_RUN_H_
