// A probe as the text of its record in the database: JSON, without loss but for
// `progress` and `queue_position`, which are not kept.
#ifndef MEMPLAN_SERVER_STORE_PROBE_CODEC_H_
#define MEMPLAN_SERVER_STORE_PROBE_CODEC_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/probe/probe.h"

namespace memplan {

// Text that is no UTF-8 (a model's words may be anything) is kept with the wrong
// bytes replaced by U+FFFD.
std::string EncodeProbe(const Probe& probe);

// kDataLoss, with what is wrong, for anything that EncodeProbe does not write.
// Never throws.
absl::StatusOr<Probe> DecodeProbe(std::string_view text);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_PROBE_CODEC_H_
