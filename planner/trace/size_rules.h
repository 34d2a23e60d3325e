// The sizes of all requests of a symbolic trace, each rule kept once: thousands
// of requests share some hundred rules, so that a new shape costs a pass over
// the rules and then one look-up for each request.
#ifndef MEMPLAN_PLANNER_TRACE_SIZE_RULES_H_
#define MEMPLAN_PLANNER_TRACE_SIZE_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/base/bytes.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/size_law.h"

namespace memplan {

// What a request is for.
enum class SizeRole : uint8_t {
  kTensor,            // follows its law
  kScratch,           // of an irregular operator: its law is a guess
  kReductionScratch,  // of a sum or a mean: grows up to a ceiling
};

// What to assume of scratch that is not known at a shape.
enum class ScratchScenario : uint8_t {
  kBestGuess,     // on the line through the recordings, reductions to a ceiling
  kExtrapolated,  // on the line, whatever comes
  kHeld,          // as in the largest recording
  kVanished,      // none
  kAppears,       // as guessed; and every convolution takes some of its own
};
inline constexpr ScratchScenario kAllScratchScenarios[] = {
    ScratchScenario::kBestGuess, ScratchScenario::kExtrapolated,
    ScratchScenario::kHeld, ScratchScenario::kVanished,
    ScratchScenario::kAppears};

// A reduction's scratch grows with its input until every multiprocessor has its
// share: 1 MiB for each of the H200's 132 in the recorded traces.
inline constexpr Bytes kReductionCeiling = MiB(132);

struct SizedRequest {
  int64_t bytes = 0;
  SizeOrigin origin = SizeOrigin::kConstant;
};

// A value. Not thread-safe while rules are added.
class SizeRules {
 public:
  // Says in a list of sizes that the request is missing from a recording.
  static constexpr int64_t kMissing = -1;

  // `points` as for SizeLawFitter, one of each recording; `largest` is the
  // recording that the requests are those of.
  // A default-made one has no rule.
  static absl::StatusOr<SizeRules> Create(
      std::vector<std::vector<int64_t>> points, size_t largest);

  // The rule for a request of these sizes, one of each recording; that of the
  // largest is not missing.
  uint32_t Add(std::span<const int64_t> sizes, SizeRole role);

  // The size that each rule gives at `values`, into `sized`. kOutOfRange, with
  // the size recorded, if one is above 1 EiB.
  absl::Status Evaluate(std::span<const int64_t> values,
                        ScratchScenario scenario,
                        std::vector<SizedRequest>& sized) const;

  size_t size() const { return rules_.size(); }

 private:
  // A size seen at one value of the only dimension that varies.
  struct Seen {
    int64_t value;
    int64_t bytes;
  };
  struct Rule {
    SizeRole role = SizeRole::kTensor;
    int64_t recorded_bytes = 0;  // in the largest recording
    std::optional<SizeLaw> law;
    std::vector<Seen> seen;  // without a law; at least two, by value
  };

  Rule MakeRule(std::span<const int64_t> sizes, SizeRole role) const;
  SizedRequest Follow(const Rule& rule, std::span<const int64_t> values) const;
  SizedRequest AssumeScratch(const Rule& rule, std::span<const int64_t> values,
                             ScratchScenario scenario) const;

  std::vector<std::vector<int64_t>> points_;
  size_t largest_ = 0;
  std::optional<size_t> only_varying_;  // the dimension, if there is but one
  std::vector<Rule> rules_;
  absl::flat_hash_map<std::vector<int64_t>, uint32_t> ids_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_SIZE_RULES_H_
