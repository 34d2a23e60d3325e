// The API's enums, times and amounts in a person's words. A value that this
// program does not know, from a newer daemon, is shown by its number.
#ifndef MEMPLAN_CLIENT_CLI_WORDS_H_
#define MEMPLAN_CLIENT_CLI_WORDS_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <string>

#include "memplan/v1/plan.pb.h"
#include "memplan/v1/probe_service.pb.h"

namespace memplan {

std::string OutcomeWords(v1::TrialOutcome outcome);  // fits, out of memory, …
std::string PurposeWords(v1::TrialPurpose purpose);  // search, verify, …
std::string StateWords(v1::ProbeState state);        // queued, running, …

// `verified in trial 17`, `measured in trial 3`, `estimate`.
std::string ProvenanceWords(const v1::Quantity& quantity);

// `train adam (foreach), as eager, autocast bf16` and the like.
std::string ModeWords(const v1::ProbeSpec& spec);

// `1 trial`, `2 trials`; `plural` if it is not the noun with an s.
std::string Counted(int64_t count, const std::string& noun,
                    const std::string& plural = "");

// The first 12 digits, as tables show a model.
std::string ShortHash(const std::string& sha256);

// `12.3 s`, `250 ms`, `2 min 5 s`.
std::string DurationWords(const google::protobuf::Duration& duration);

// `2026-11-29 23:12:01Z`; empty if unset.
std::string TimeWords(const google::protobuf::Timestamp& time);

// `1.50 GiB`.
std::string BytesWords(int64_t bytes);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_WORDS_H_
