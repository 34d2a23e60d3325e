#include "client/cli/probe_report.h"

#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/attribution_words.h"
#include "client/cli/step_words.h"
#include "client/cli/table.h"
#include "client/cli/warm_up_words.h"
#include "client/cli/words.h"

namespace memplan {
namespace {

std::string BatchWords(const v1::Plan& plan) {
  switch (plan.verdict()) {
    case v1::PLAN_VERDICT_FOUND:
      return absl::StrCat(plan.safe_batch());
    case v1::PLAN_VERDICT_FIXED_BATCH:
      return absl::StrCat(plan.safe_batch(), " (fixed batch ",
                          plan.safe_batch(), ": it is baked into the model)");
    case v1::PLAN_VERDICT_DOES_NOT_FIT:
      return "none: it does not fit at batch 1";
    default:
      return absl::StrCat("unknown verdict ", plan.verdict());
  }
}

std::string VerifiedWords(const v1::Plan& plan) {
  if (!plan.verified()) return "no";
  return absl::StrCat(
      "ran again in ", plan.verifying_trials(),
      plan.verifying_trials() == 1 ? " fresh process" : " fresh processes");
}

std::string StopWords(const v1::Plan& plan) {
  switch (plan.limit()) {
    case v1::SEARCH_LIMIT_MEMORY:
      return "memory: the next batch does not fit";
    case v1::SEARCH_LIMIT_MAX_BATCH:
      return "the largest batch to consider runs (raise --max-batch)";
    case v1::SEARCH_LIMIT_OTHER_FAILURE:
      return absl::StrCat("not memory: ", plan.limit_message());
    default:
      return absl::StrCat("unknown (", plan.limit(), ")");
  }
}

std::string LimitWords(const v1::ProbeSpec& spec) {
  switch (spec.limit_case()) {
    case v1::ProbeSpec::kCapBytes:
      return ", under a cap of " + BytesWords(spec.cap_bytes());
    case v1::ProbeSpec::kBudgetBytes:
      return ", under a budget of " + BytesWords(spec.budget_bytes());
    case v1::ProbeSpec::LIMIT_NOT_SET:
      break;
  }
  return "";
}

std::string NeighbourWords(const v1::Plan& plan) {
  std::vector<std::string> words;
  for (const v1::Neighbour& neighbour : plan.neighbours()) {
    words.push_back(absl::StrCat(
        neighbour.batch(), " ", OutcomeWords(neighbour.outcome()),
        neighbour.trial_number() == 0
            ? " (predicted)"
            : absl::StrCat(" (trial ", neighbour.trial_number(), ")")));
  }
  return words.empty() ? "none were run" : absl::StrJoin(words, ", ");
}

// What a settled step of a batch costs.
std::string CostWords(const v1::PredictedBatch& batch) {
  std::string words =
      absl::StrCat(Counted(batch.retries_per_step(), "retry", "retries"),
                   " and ", Counted(batch.segments_freed_per_step(), "segment"),
                   " given back in each step");
  if (batch.caught_failures() > 0) {
    absl::StrAppend(&words, ", ",
                    Counted(batch.caught_failures(), "convolution"),
                    " with less scratch");
  }
  return words;
}

std::string ComfortableWords(const v1::Prediction& prediction) {
  const int64_t batch = prediction.comfortable().batch();
  if (batch == 0) return "none: every batch gives memory back in each step";
  return absl::StrCat(
      batch, ": gives no memory back in a settled step",
      batch == prediction.safe().batch()
          ? ""
          : absl::StrCat("; ", prediction.safe().batch(), " has ",
                         CostWords(prediction.safe())));
}

std::string RunningAboveWords(const v1::Prediction& prediction) {
  std::vector<std::string> words;
  for (const v1::PredictedBatch& batch : prediction.running_above()) {
    words.push_back(absl::StrCat(batch.batch(), " (", CostWords(batch), ")"));
  }
  return absl::StrCat(absl::StrJoin(words, ", "), " would run although ",
                      prediction.failing().batch(), " fails");
}

std::string MethodWords(const v1::Plan& plan) {
  switch (plan.method()) {
    case v1::PLAN_METHOD_PREDICTED:
      return absl::StrCat(
          "predicted from ",
          Counted(plan.prediction().recorded_batches_size(), "recording"),
          plan.prediction().call_batches().empty()
              ? ""
              : absl::StrCat(
                    " and ",
                    Counted(plan.prediction().distinct_calls(), "operator"),
                    " run alone"),
          ", then verified");
    case v1::PLAN_METHOD_BISECTED:
      return plan.fall_back_reason().empty()
                 ? "bisected"
                 : absl::StrCat(
                       "bisected, since the prediction does not hold: ",
                       plan.fall_back_reason());
    default:
      return absl::StrCat("unknown (", plan.method(), ")");
  }
}

std::string RangeWords(const v1::PeakRange& range) {
  return absl::StrCat(BytesWords(range.least_bytes()), " to ",
                      BytesWords(range.most_bytes()));
}

// Zero wide it says what the measured peaks say.
bool IsPoint(const v1::PeakInterval& interval) {
  return interval.allocated().least_bytes() ==
             interval.allocated().most_bytes() &&
         interval.reserved().least_bytes() == interval.reserved().most_bytes();
}

void AddInterval(Table& table, const v1::Prediction& prediction) {
  if (!prediction.has_safe_interval()) return;
  const v1::PeakInterval& interval = prediction.safe_interval();
  if (IsPoint(interval)) return;
  table.AddRow({"predicted peaks",
                absl::StrCat(RangeWords(interval.allocated()), " allocated, ",
                             RangeWords(interval.reserved()), " reserved")});
}

void AddPrediction(Table& table, const v1::Plan& plan) {
  if (!plan.has_prediction()) return;
  table.AddRow({"comfortable", ComfortableWords(plan.prediction())});
  AddInterval(table, plan.prediction());
  if (plan.prediction().running_above_size() > 0) {
    table.AddRow({"larger, predicted", RunningAboveWords(plan.prediction())});
  }
}

void AddQuantity(Table& table, const std::string& name, bool known,
                 const v1::Quantity& quantity, const std::string& note = "") {
  if (!known) {
    table.AddRow({name, "not known on this device"});
    return;
  }
  table.AddRow({name, absl::StrCat(BytesWords(quantity.bytes()), ", ",
                                   ProvenanceWords(quantity), note)});
}

// What the last step needs, where an earlier one needed more.
void AddSteadyPeak(Table& table, const v1::Plan& plan) {
  if (!plan.has_steady_peak_allocated()) return;
  std::string words = absl::StrCat(
      BytesWords(plan.steady_peak_allocated().bytes()), " allocated");
  if (plan.has_steady_peak_reserved()) {
    absl::StrAppend(&words, ", ",
                    BytesWords(plan.steady_peak_reserved().bytes()),
                    " reserved");
  }
  table.AddRow({"steady step", words});
}

void AddQuantities(Table& table, const v1::Probe& probe) {
  const v1::Plan& plan = probe.plan();
  AddQuantity(table, "peak requested", plan.has_peak_requested(),
              plan.peak_requested());
  AddQuantity(table, "peak allocated", plan.has_peak_allocated(),
              plan.peak_allocated());
  AddQuantity(table, "peak active", plan.has_peak_active(), plan.peak_active());
  AddQuantity(table, "peak reserved", plan.has_peak_reserved(),
              plan.peak_reserved());
  AddQuantity(table, "context", plan.has_context(), plan.context());
  AddQuantity(table, "fragmentation", plan.has_fragmentation(),
              plan.fragmentation(),
              plan.has_fragmentation_ratio()
                  ? absl::StrFormat(", %.1f %% of reserved",
                                    plan.fragmentation_ratio() * 100)
                  : "");
  table.AddRow({"peak in", StepWords(probe.spec(), plan.peak_step())});
  if (plan.has_peak_request()) {
    table.AddRow({"peak made by", RequestWords(plan.peak_request())});
  }
  AddSteadyPeak(table, plan);
  if (const std::string words = WarmUpWords(probe); !words.empty()) {
    table.AddRow({"warm-up", words});
  }
  if (plan.has_contents_dependence()) {
    table.AddRow({"contents", ContentsWords(plan.contents_dependence())});
  }
}

// The peaks of the C++ optimizer where another was asked for.
std::string OptimizerNote(const v1::Probe& probe) {
  const auto asked = probe.spec().step().optimizer_implementation();
  const auto seen = probe.plan().optimizer_implementation();
  if (asked == seen || ImplementationWords(asked).empty()) return "";
  if (probe.plan().prediction().optimizer_implementation() == asked) {
    return absl::StrCat("the batch is predicted for yours",
                        ImplementationWords(asked),
                        "; the peaks are of libtorch's C++ optimizer, which "
                        "the workers ran");
  }
  return absl::StrCat(
      "the peaks are of libtorch's C++ optimizer; those of yours",
      ImplementationWords(asked), " may be higher, so leave room for it");
}

// What the answer was refused and went on without; without an answer, what the
// smallest batch that failed was refused.
void AddRefused(Table& table, const v1::Probe& probe) {
  const v1::Plan& plan = probe.plan();
  const v1::Trial* smallest = nullptr;
  for (const v1::Trial& trial : probe.trials()) {
    const bool counts =
        plan.verdict() == v1::PLAN_VERDICT_DOES_NOT_FIT
            ? trial.outcome() == v1::TRIAL_OUTCOME_OUT_OF_MEMORY
            : trial.number() == plan.peak_allocated().trial_number();
    if (counts && trial.has_refused_request() &&
        (smallest == nullptr || trial.batch() < smallest->batch())) {
      smallest = &trial;
    }
  }
  if (smallest == nullptr) return;
  table.AddRow(
      {"refused", absl::StrCat(RequestWords(smallest->refused_request()),
                               ", at batch ", smallest->batch())});
}

std::string PlanReport(const v1::Probe& probe) {
  const v1::Plan& plan = probe.plan();
  const bool found = plan.verdict() != v1::PLAN_VERDICT_DOES_NOT_FIT;
  Table table({{}, {}});
  table.AddRow({"largest safe batch", BatchWords(plan)});
  if (found) {
    table.AddRow({"verified", VerifiedWords(plan)});
    AddPrediction(table, plan);
    AddQuantities(table, probe);
    if (const std::string note = OptimizerNote(probe); !note.empty()) {
      table.AddRow({"optimizer", note});
    }
    table.AddRow({"neighbours", NeighbourWords(plan)});
    if (plan.unsafe_running_batches_size() > 0) {
      table.AddRow(
          {"larger, not safe",
           absl::StrCat(absl::StrJoin(plan.unsafe_running_batches(), ", "),
                        " ran although a smaller batch failed")});
    }
  }
  if (plan.verdict() == v1::PLAN_VERDICT_FOUND) {
    table.AddRow({"stopped by", StopWords(plan)});
    if (plan.limit() != v1::SEARCH_LIMIT_OTHER_FAILURE &&
        !plan.limit_message().empty()) {
      table.AddRow({"though", plan.limit_message()});
    }
  } else if (!plan.limit_message().empty()) {
    table.AddRow({"because", plan.limit_message()});
  }
  AddRefused(table, probe);
  table.AddRow({"found", MethodWords(plan)});
  table.AddRow({"trials", absl::StrCat(plan.trial_count(), ", of which ",
                                       plan.out_of_memory_count(),
                                       " ran out of memory")});
  table.AddRow({"took", DurationWords(plan.duration())});
  table.AddRow({"ran", absl::StrCat(ModeWords(probe.spec()), ", on ",
                                    probe.spec().device_id(),
                                    LimitWords(probe.spec()))});
  table.AddRow({"probe", probe.id()});
  return table.Text();
}

std::string OptionalBytes(bool known, int64_t bytes) {
  return known ? BytesWords(bytes) : "-";
}

// With what stands behind it, where that says more.
std::string EndWords(const v1::Trial& trial) {
  const std::string& end_class = trial.end_class();
  if (end_class.empty() || end_class == "oom" || end_class == "other") {
    return OutcomeWords(trial.outcome());
  }
  return absl::StrCat(OutcomeWords(trial.outcome()), " (", end_class, ")");
}

std::vector<std::string> TrialRow(const v1::Trial& trial) {
  const v1::Peaks& peaks = trial.peaks();
  return {absl::StrCat(trial.batch()),
          PurposeWords(trial.purpose()),
          EndWords(trial),
          BytesWords(peaks.requested_bytes()),
          BytesWords(peaks.allocated_bytes()),
          BytesWords(peaks.active_bytes()),
          OptionalBytes(peaks.has_reserved_bytes(), peaks.reserved_bytes()),
          OptionalBytes(trial.has_context_bytes(), trial.context_bytes()),
          OptionalBytes(trial.has_fragmentation_bytes(),
                        trial.fragmentation_bytes()),
          absl::StrCat(trial.allocation_retries()),
          DurationWords(trial.duration())};
}

// Lines below the table.
std::string AttributionNotes(const v1::Trial& trial) {
  std::string notes;
  const auto add = [&](const char* what, const std::string& words) {
    absl::StrAppend(&notes, "batch ", trial.batch(), ": ", what, words, "\n");
  };
  if (trial.has_peak_request()) {
    add("peak made by ", RequestWords(trial.peak_request()));
  }
  if (trial.has_refused_request()) {
    add("refused ", RequestWords(trial.refused_request()));
  }
  if (trial.has_contents_dependence()) {
    add("", ContentsWords(trial.contents_dependence()));
  }
  return notes;
}

// A batch whose worker died is run again: its last trial decides.
ExitCode ExitCodeOfProfile(const v1::Probe& probe) {
  std::map<int64_t, v1::TrialOutcome> outcomes;
  for (const v1::Trial& trial : probe.trials()) {
    if (trial.purpose() == v1::TRIAL_PURPOSE_PROFILE) {
      outcomes[trial.batch()] = trial.outcome();
    }
  }
  bool fits = false;
  for (const auto& [batch, outcome] : outcomes) {
    if (outcome == v1::TRIAL_OUTCOME_FITS) {
      fits = true;
    } else if (outcome != v1::TRIAL_OUTCOME_OUT_OF_MEMORY) {
      return kExitError;
    }
  }
  return fits ? kExitDone : kExitNever;
}

}  // namespace

std::string TrialTable(const v1::Probe& probe) {
  Table table({{"BATCH", Align::kRight},
               {"PURPOSE"},
               {"OUTCOME"},
               {"REQUESTED", Align::kRight},
               {"ALLOCATED", Align::kRight},
               {"ACTIVE", Align::kRight},
               {"RESERVED", Align::kRight},
               {"CONTEXT", Align::kRight},
               {"FRAGMENTATION", Align::kRight},
               {"RETRIES", Align::kRight},
               {"TOOK", Align::kRight}});
  std::string notes;
  for (const v1::Trial& trial : probe.trials()) {
    table.AddRow(TrialRow(trial));
    if (!trial.message().empty()) {
      absl::StrAppend(&notes, "batch ", trial.batch(), ": ",
                      PrintableText(trial.message()), "\n");
    }
    absl::StrAppend(&notes, AttributionNotes(trial));
  }
  return table.Text() + notes;
}

std::string ProbeReport(const v1::Probe& probe) {
  if (probe.has_plan()) return PlanReport(probe);
  return probe.trials_size() > 0 ? TrialTable(probe) : "";
}

ExitCode ExitCodeOfProbe(const v1::Probe& probe) {
  if (probe.state() != v1::PROBE_STATE_SUCCEEDED) return kExitError;
  if (probe.has_plan()) {
    switch (probe.plan().verdict()) {
      case v1::PLAN_VERDICT_FOUND:
      case v1::PLAN_VERDICT_FIXED_BATCH:
        return kExitDone;
      case v1::PLAN_VERDICT_DOES_NOT_FIT:
        return kExitNever;
      default:
        return kExitError;
    }
  }
  return ExitCodeOfProfile(probe);
}

}  // namespace memplan
