#include "client/cli/words.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "client/cli/step_words.h"
#include "planner/base/bytes.h"
#include "planner/base/format.h"

namespace memplan {
namespace {

std::string Unknown(int value) { return absl::StrCat("unknown (", value, ")"); }

std::string OptimizerWords(v1::Optimizer optimizer) {
  switch (optimizer) {
    case v1::OPTIMIZER_SGD:
      return "sgd";
    case v1::OPTIMIZER_SGD_MOMENTUM:
      return "sgd-momentum";
    case v1::OPTIMIZER_ADAM:
      return "adam";
    case v1::OPTIMIZER_ADAMW:
      return "adamw";
    default:
      return Unknown(optimizer);
  }
}

}  // namespace

std::string OutcomeWords(v1::TrialOutcome outcome) {
  switch (outcome) {
    case v1::TRIAL_OUTCOME_FITS:
      return "fits";
    case v1::TRIAL_OUTCOME_OUT_OF_MEMORY:
      return "out of memory";
    case v1::TRIAL_OUTCOME_SHAPE_REFUSED:
      return "shape refused";
    case v1::TRIAL_OUTCOME_MODEL_FAILED:
      return "model failed";
    case v1::TRIAL_OUTCOME_TIMED_OUT:
      return "timed out";
    case v1::TRIAL_OUTCOME_WORKER_DIED:
      return "worker died";
    case v1::TRIAL_OUTCOME_SANDBOX_REFUSED:
      return "sandbox refused";
    default:
      return Unknown(outcome);
  }
}

std::string PurposeWords(v1::TrialPurpose purpose) {
  switch (purpose) {
    case v1::TRIAL_PURPOSE_PROFILE:
      return "profile";
    case v1::TRIAL_PURPOSE_SEARCH:
      return "search";
    case v1::TRIAL_PURPOSE_NEIGHBOUR:
      return "neighbour";
    case v1::TRIAL_PURPOSE_VERIFY:
      return "verify";
    case v1::TRIAL_PURPOSE_CALIBRATE:
      return "calibrate";
    case v1::TRIAL_PURPOSE_RECORD:
      return "record";
    default:
      return Unknown(purpose);
  }
}

std::string StateWords(v1::ProbeState state) {
  switch (state) {
    case v1::PROBE_STATE_QUEUED:
      return "queued";
    case v1::PROBE_STATE_RUNNING:
      return "running";
    case v1::PROBE_STATE_SUCCEEDED:
      return "succeeded";
    case v1::PROBE_STATE_FAILED:
      return "failed";
    case v1::PROBE_STATE_CANCELLED:
      return "cancelled";
    default:
      return Unknown(state);
  }
}

std::string ProvenanceWords(const v1::Quantity& quantity) {
  switch (quantity.provenance()) {
    case v1::PROVENANCE_ESTIMATE:
      return "estimate";
    case v1::PROVENANCE_MEASURED:
      return absl::StrCat("measured in trial ", quantity.trial_number());
    case v1::PROVENANCE_VERIFIED:
      return absl::StrCat("verified in trial ", quantity.trial_number());
    default:
      return Unknown(quantity.provenance());
  }
}

std::string ModeWords(const v1::ProbeSpec& spec) {
  std::string words;
  switch (spec.mode()) {
    case v1::MODE_INFER:
      words = "infer";
      break;
    case v1::MODE_INFER_GRAD:
      words = "infer-grad";
      break;
    case v1::MODE_TRAIN:
      words = absl::StrCat(
          "train ", OptimizerWords(spec.optimizer()),
          ImplementationWords(spec.step().optimizer_implementation()));
      break;
    default:
      words = Unknown(spec.mode());
  }
  switch (spec.run_as()) {
    case v1::RUN_AS_TORCHSCRIPT:
      words += ", as torchscript";
      break;
    case v1::RUN_AS_EAGER:
      words += ", as eager";
      break;
    default:
      words += ", as " + Unknown(spec.run_as());
  }
  return words + StepOptionWords(spec.step());
}

std::string Counted(int64_t count, const std::string& noun,
                    const std::string& plural) {
  if (count == 1) return absl::StrCat("1 ", noun);
  return absl::StrCat(count, " ", plural.empty() ? noun + "s" : plural);
}

std::string ShortHash(const std::string& sha256) {
  return sha256.substr(0, 12);
}

std::string DurationWords(const google::protobuf::Duration& duration) {
  const double seconds = static_cast<double>(duration.seconds()) +
                         static_cast<double>(duration.nanos()) * 1e-9;
  if (seconds < 0.9995) return absl::StrFormat("%.0f ms", seconds * 1e3);
  if (seconds < 59.95) return absl::StrFormat("%.1f s", seconds);
  const auto whole = static_cast<int64_t>(std::lround(seconds));
  return absl::StrFormat("%d min %d s", whole / 60, whole % 60);
}

std::string TimeWords(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ",
                          absl::FromUnixSeconds(time.seconds()),
                          absl::UTCTimeZone());
}

std::string BytesWords(int64_t bytes) { return FormatBytes(Bytes(bytes)); }

}  // namespace memplan
