#include "client/cli/warm_up_words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/words.h"

namespace memplan {
namespace {

constexpr size_t kMostStretches = 6;

using Steps = std::vector<const v1::StepResult*>;

// The steps that were asked for, of the trial with this number.
Steps StepsOf(const v1::Probe& probe, int trial_number) {
  Steps steps;
  for (const v1::Trial& trial : probe.trials()) {
    if (trial.number() != trial_number) continue;
    for (const v1::StepResult& step : trial.steps()) {
      if (step.kind() == v1::STEP_KIND_STEP) steps.push_back(&step);
    }
  }
  return steps;
}

int64_t Requested(const v1::StepResult& step) {
  return step.peaks().requested_bytes();
}

bool IsShorter(const v1::StepResult* a, const v1::StepResult* b) {
  return std::pair(a->duration().seconds(), a->duration().nanos()) <
         std::pair(b->duration().seconds(), b->duration().nanos());
}

// `20: 6.00 MiB in 900 ms`, `2 to 19: 4.00 MiB in up to 40 ms`.
std::string StretchWords(Steps::const_iterator first,
                         Steps::const_iterator end) {
  const bool is_one = end - first == 1;
  const v1::StepResult& slowest = **std::max_element(first, end, IsShorter);
  return absl::StrCat((*first)->index() + 1,
                      is_one ? "" : absl::StrCat(" to ", end[-1]->index() + 1),
                      ": ", BytesWords(Requested(**first)),
                      is_one ? " in " : " in up to ",
                      DurationWords(slowest.duration()));
}

// ` (1: 1.37 GiB in 644 ms; 2: …)`: the first `count` steps, neighbours that ask
// for the same together; empty if there are none.
std::string DetailWords(const Steps& steps, int count) {
  const auto all =
      steps.begin() + std::clamp<std::ptrdiff_t>(count, 0, std::ssize(steps));
  std::vector<std::string> words;
  for (auto first = steps.begin(); first != all;) {
    const auto end = std::find_if(first, all, [&](const auto* step) {
      return Requested(*step) != Requested(**first);
    });
    words.push_back(StretchWords(first, end));
    first = end;
  }
  if (words.empty()) return "";
  if (words.size() > kMostStretches) {
    const size_t more = words.size() - (kMostStretches - 1);
    words.resize(kMostStretches - 1);
    words.push_back(absl::StrCat("and ", more, " more changes"));
  }
  return absl::StrCat(" (", absl::StrJoin(words, "; "), ")");
}

// `4.00 MiB requested`: of the steady step, if the steps are known.
std::string SteadyWords(const Steps& steps, const char* otherwise) {
  return steps.empty()
             ? otherwise
             : absl::StrCat(BytesWords(Requested(*steps.back())), " requested");
}

}  // namespace

std::string WarmUpWords(const v1::Probe& probe) {
  if (!probe.plan().has_warm_up()) return "";
  const v1::WarmUp& warm_up = probe.plan().warm_up();
  const Steps steps = StepsOf(probe, warm_up.trial_number());
  if (!warm_up.settled()) {
    const int count = warm_up.steps() + 1;
    if (count == 1) return "not known after one step: run more with --steps";
    return absl::StrCat("not over after ", Counted(count, "step"),
                        DetailWords(steps, count), ": run more with --steps");
  }
  const std::string steady = DurationWords(warm_up.steady_step_duration());
  if (warm_up.steps() == 0) {
    return absl::StrCat("none: ", SteadyWords(steps, "the same"),
                        " in every step; the first took ",
                        DurationWords(warm_up.first_step_duration()),
                        ", the last ", steady);
  }
  return absl::StrCat(Counted(warm_up.steps(), "step"),
                      DetailWords(steps, warm_up.steps()), ", then ",
                      SteadyWords(steps, "steady steps"), " in ", steady);
}

}  // namespace memplan
