// What a scripted worker is told to do, read from the model file it is told to
// run. A JSON object; every member may be missing:
//
//   base_bytes        what the model takes when loaded (1 MiB)
//   bytes_per_sample  what each sample takes besides (1 MiB)
//   peak_bytes        {"8": bytes}: what a step takes at these batches instead
//   odd_steps         {"20": bytes}: what that step, from 1, takes besides for each
//                     sample
//   limit_batch       larger batches run out of memory whatever the cap
//   oom_batches       and so do these
//   spills_above      larger batches run, on a GPU in the host's memory
//   traced_batch      the batch that the archive says it was traced at
//   scratch_per_sample  what a convolution takes besides and gives back, for each
//   scratch_until     sample up to this number
//   stranded_bytes    what a GPU's segments hold besides, in pieces (0)
//   context_bytes     what a process holds on a GPU beside its allocator (0)
//   caught_failures   requests of each step that fail and are made up for (0)
//   device_free       what the device has free where it throws; else not known
//   step_seconds      how long each step takes (0)
//   on_batch          {"16": situation, "64+": situation for 64 and more, "*":
//                     situation for all others; also "prepare" in answer to it,
//                     "prepared": right after that, "calls"}; the situations
//                     that throw are in scripted_failure.h
//   recorded          path of a folder with what a real worker recorded
//                     (recorded_run.h), to be told again
//   once              path of a marker file: the situation is met only by the
//                     worker that makes it, the others behave
//   gate              path of a fifo, for the situations `waits at the gate` and
//                     `runs out at the gate`, which is out of memory then
//   log               path of a file that gets a line `pid batch` a run, and
//                     `pid prepare`, `pid calls`
//
// Without a situation, a worker runs and reports, or runs out of memory if the
// batch is above the limit, listed, or takes more than the request's cap.
#ifndef MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_SCRIPT_H_
#define MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_SCRIPT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace memplan::testing {

struct Script {
  int64_t base_bytes = 1 << 20;
  int64_t bytes_per_sample = 1 << 20;
  std::map<std::string, int64_t> peak_bytes;
  std::map<std::string, int64_t> odd_steps;
  int64_t limit_batch = INT64_MAX;
  std::set<int64_t> oom_batches;
  int64_t spills_above = INT64_MAX;
  std::optional<int64_t> traced_batch;
  int64_t scratch_per_sample = 0;
  int64_t scratch_until = INT64_MAX;
  int64_t stranded_bytes = 0;
  int64_t context_bytes = 0;
  int64_t caught_failures = 0;
  std::optional<int64_t> device_free;
  double step_seconds = 0;
  std::map<std::string, std::string> on_batch;
  std::string recorded;
  std::string once;
  std::string gate;
  std::string log;
};

// The script in the file at `path`; the default one if it has none. Ends the
// process with a message if the file cannot be read or the script has an
// unknown or ill-typed member: a broken test must not look like a behaviour.
Script ReadScript(const std::string& path);

// The situation for `order`, a batch in digits or another key of `on_batch`; or
// empty. Makes the marker of `once`.
std::string SituationFor(const Script& script, const std::string& order);

// Appends the line `pid order` to the script's log, if it has one.
void LogStart(const Script& script, const std::string& order);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_SCRIPTED_WORKER_SCRIPT_H_
