#include "server/convert/limits_from_proto.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/convert/refused_spec.h"
#include "server/convert/times.h"

namespace memplan {
namespace {

constexpr std::chrono::hours kLongestProbe{24 * 30};
constexpr int kMostTrials = 10'000;
constexpr int kMostNiceness = 19;

absl::Status ReadTimeLimit(const v1::ProbeSpec& proto, ProbeSpec& spec) {
  if (!proto.has_time_limit()) return absl::OkStatus();
  spec.time_limit = PositiveDuration(proto.time_limit(), kLongestProbe);
  if (spec.time_limit) return absl::OkStatus();
  return RefusedSpec(
      "a probe's time limit is more than 0 and at most 30 days; leave it out "
      "for none",
      "spec.time_limit");
}

}  // namespace

absl::Status ReadProbeLimits(const v1::ProbeSpec& proto, ProbeSpec& spec) {
  if (absl::Status read = ReadTimeLimit(proto, spec); !read.ok()) return read;
  if (proto.max_trials() < 0 || proto.max_trials() > kMostTrials) {
    return RefusedSpec(
        absl::StrCat("a probe has 1 to ", kMostTrials,
                     " trials (0 means as many as it takes), not ",
                     proto.max_trials()),
        "spec.max_trials");
  }
  if (proto.niceness() < 0 || proto.niceness() > kMostNiceness) {
    return RefusedSpec(absl::StrCat("niceness is 0 to ", kMostNiceness,
                                    ", not ", proto.niceness()),
                       "spec.niceness");
  }
  if (proto.only_when_idle() && spec.device_id == "cpu") {
    return RefusedSpec(
        "the cpu device is never idle, since the daemon itself runs there; "
        "leave it out, or choose a GPU",
        "spec.only_when_idle");
  }
  spec.max_trials = proto.max_trials();
  spec.niceness = proto.niceness();
  spec.only_when_idle = proto.only_when_idle();
  return absl::OkStatus();
}

}  // namespace memplan
