#include "planner/plan/safe_search.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

class SafeSearch {
 public:
  SafeSearch(const SafeSearchOptions& options,
             absl::FunctionRef<absl::StatusOr<bool>(int64_t)> runs,
             absl::FunctionRef<void(int64_t, int64_t)> foresee)
      : options_(options), runs_(runs), foresee_(foresee) {}

  absl::StatusOr<SafeCandidates> Find() {
    MEMPLAN_RETURN_IF_ERROR(Bracket());
    MEMPLAN_RETURN_IF_ERROR(Halve());
    // Below the answer; each failure there moves it down.
    foresee_(LowestInReach(), lower_);
    for (int64_t candidate = lower_; candidate >= LowestInReach();
         --candidate) {
      MEMPLAN_ASSIGN_OR_RETURN(const bool runs, Ask(candidate));
      if (runs) continue;
      lower_ = candidate - 1;
      foresee_(LowestInReach(), lower_);
    }
    const int64_t top = std::min(
        options_.last, lower_ + options_.reach_above.value_or(options_.reach));
    foresee_(lower_ + 1, top);
    for (int64_t candidate = lower_ + 1; candidate <= top; ++candidate) {
      MEMPLAN_RETURN_IF_ERROR(Ask(candidate).status());
    }
    return Answer(top);
  }

 private:
  int64_t LowestInReach() const {
    return std::max(options_.first, lower_ - options_.reach);
  }

  absl::StatusOr<bool> Ask(int64_t candidate) {
    if (const auto known = answers_.find(candidate); known != answers_.end()) {
      return known->second;
    }
    if (static_cast<int64_t>(answers_.size()) >= options_.max_asked) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no end of holes was found after asking for ", options_.max_asked,
          " candidates, down to ", candidate, "; search with real runs"));
    }
    MEMPLAN_ASSIGN_OR_RETURN(const bool runs, runs_(candidate));
    answers_[candidate] = runs;
    return runs;
  }

  // Ends with `lower_` running (or below the first) and `upper_` failing (or
  // above the last), at growing distances from the start.
  absl::Status Bracket() {
    lower_ = options_.first - 1;
    upper_ = options_.last + 1;
    int64_t candidate =
        std::clamp(options_.start, options_.first, options_.last);
    MEMPLAN_ASSIGN_OR_RETURN(const bool start_runs, Ask(candidate));
    int64_t distance = options_.first_distance > 0
                           ? options_.first_distance
                           : std::max<int64_t>(candidate / 4, 1);
    for (bool runs = start_runs; runs == start_runs; distance *= 2) {
      (runs ? lower_ : upper_) = candidate;
      const int64_t next = runs ? candidate + distance : candidate - distance;
      candidate = std::clamp(next, options_.first, options_.last);
      if (candidate == lower_ || candidate == upper_) return absl::OkStatus();
      MEMPLAN_ASSIGN_OR_RETURN(runs, Ask(candidate));
      if (runs != start_runs) (runs ? lower_ : upper_) = candidate;
    }
    return absl::OkStatus();
  }

  absl::Status Halve() {
    while (upper_ - lower_ > 1) {
      const int64_t middle = lower_ + (upper_ - lower_) / 2;
      MEMPLAN_ASSIGN_OR_RETURN(const bool runs, Ask(middle));
      (runs ? lower_ : upper_) = middle;
    }
    return absl::OkStatus();
  }

  SafeCandidates Answer(int64_t top) const {
    SafeCandidates result;
    if (lower_ >= options_.first) result.safe = lower_;
    result.checked_from = LowestInReach();
    result.checked_to = top;
    result.asked = static_cast<int64_t>(answers_.size());
    for (const auto& [candidate, runs] : answers_) {
      if (candidate > lower_ && runs) result.running_above.push_back(candidate);
    }
    for (const auto& [candidate, runs] : answers_) {
      if (result.running_above.empty()) break;
      if (!runs && candidate < result.running_above.back()) {
        result.holes.push_back(candidate);
      }
    }
    return result;
  }

  const SafeSearchOptions options_;
  const absl::FunctionRef<absl::StatusOr<bool>(int64_t)> runs_;
  const absl::FunctionRef<void(int64_t, int64_t)> foresee_;
  absl::btree_map<int64_t, bool> answers_;
  int64_t lower_ = 0;  // runs
  int64_t upper_ = 0;  // fails
};

}  // namespace

absl::StatusOr<SafeCandidates> FindSafe(
    const SafeSearchOptions& options,
    absl::FunctionRef<absl::StatusOr<bool>(int64_t)> runs) {
  return FindSafe(options, runs, [](int64_t, int64_t) {});
}

absl::StatusOr<SafeCandidates> FindSafe(
    const SafeSearchOptions& options,
    absl::FunctionRef<absl::StatusOr<bool>(int64_t)> runs,
    absl::FunctionRef<void(int64_t, int64_t)> foresee) {
  if (options.first > options.last || options.first < 1 || options.reach < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no candidate from ", options.first, " to ",
                     options.last, "; give a range from 1 up"));
  }
  return SafeSearch(options, runs, foresee).Find();
}

}  // namespace memplan
