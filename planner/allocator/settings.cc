#include "planner/allocator/settings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "planner/allocator/settings_tokens.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

constexpr std::string_view kLargeSegmentSize = "large_segment_size_mb";
constexpr std::string_view kMaxSplitSize = "max_split_size_mb";
constexpr std::string_view kMaxNonSplitRounding = "max_non_split_rounding_mb";
constexpr std::string_view kCollection = "garbage_collection_threshold";
constexpr std::string_view kDivisions = "roundup_power2_divisions";
constexpr std::string_view kExpandable = "expandable_segments";
constexpr std::string_view kFraction = "per_process_memory_fraction";
constexpr std::string_view kBackend = "backend";
constexpr std::string_view kRegisterThreads = "pinned_num_register_threads";
constexpr std::string_view kPinnedSegment = "pinned_reserve_segment_size_mb";

// True or False, and of no consequence for device memory.
constexpr std::array<std::string_view, 6> kIdleSwitches = {
    "pinned_use_background_threads", "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",     "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",  "graph_capture_record_stream_reuse",
};

// More than 2^32 GiB is the same as no bound.
Bytes FromMebibytes(uint64_t count) {
  constexpr auto kMost = static_cast<uint64_t>(kUnbounded.count()) >> 20;
  return MiB(static_cast<int64_t>(std::min(count, kMost)));
}

absl::Status Refused(std::string_view key, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(key), ": ", std::string(why)));
}

// Reads one text into one AllocatorSettings.
class SettingsReader {
 public:
  explicit SettingsReader(std::string_view text) : tokens_(text) {}

  absl::StatusOr<AllocatorSettings> Read() {
    MEMPLAN_RETURN_IF_ERROR(ReadLargeSegmentSize());
    settings_.max_non_split_rounding = settings_.large_segment_size;
    for (tokens_.Rewind(); !tokens_.AtEnd(); tokens_.Skip()) {
      MEMPLAN_ASSIGN_OR_RETURN(const std::string key, tokens_.ReadWord(""));
      tokens_.Skip();  // the colon
      MEMPLAN_RETURN_IF_ERROR(ReadValue(key));
    }
    return settings_;
  }

 private:
  // Before all others, which are checked against it.
  absl::Status ReadLargeSegmentSize() {
    for (; !tokens_.AtEnd(); tokens_.Skip()) {
      MEMPLAN_ASSIGN_OR_RETURN(const std::string key, tokens_.ReadWord(""));
      tokens_.Skip();
      if (key != kLargeSegmentSize) {
        MEMPLAN_RETURN_IF_ERROR(PassOver(key));
        continue;
      }
      MEMPLAN_ASSIGN_OR_RETURN(const uint64_t size, tokens_.ReadNumber(key));
      if (size <= 10) return Refused(key, "it must be above 10");
      settings_.large_segment_size = FromMebibytes(size);
    }
    return absl::OkStatus();
  }

  // A value of any form: a word, or a list to its closing bracket.
  absl::Status PassOver(std::string_view key) {
    if (!tokens_.NextIs("[")) {
      if (tokens_.AtEnd() && !IsKnown(key)) return Unknown(key);
      return tokens_.ReadWord(key).status();
    }
    while (!tokens_.AtEnd() && !tokens_.NextIs("]")) tokens_.Skip();
    if (tokens_.AtEnd() && !IsKnown(key)) return Unknown(key);
    return tokens_.AtEnd() ? Refused(key, "its list is not closed by ]")
                           : tokens_.ReadWord(key).status();
  }

  absl::Status ReadValue(const std::string& key) {
    if (key == kLargeSegmentSize) return tokens_.ReadNumber(key).status();
    if (key == kMaxSplitSize) {
      return ReadSize(key, settings_.max_split_size);
    }
    if (key == kMaxNonSplitRounding) {
      return ReadSize(key, settings_.max_non_split_rounding);
    }
    if (key == kCollection) return ReadCollection();
    if (key == kDivisions) return ReadDivisions();
    if (key == kFraction) return ReadFraction();
    if (key == kExpandable) {
      MEMPLAN_ASSIGN_OR_RETURN(settings_.expandable_segments,
                               tokens_.ReadBoolean(key));
      return absl::OkStatus();
    }
    return ReadIdle(key);
  }

  absl::Status ReadSize(std::string_view key, Bytes& size) {
    MEMPLAN_ASSIGN_OR_RETURN(const uint64_t mebibytes, tokens_.ReadNumber(key));
    const int64_t least = settings_.large_segment_size.count() >> 20;
    if (mebibytes < static_cast<uint64_t>(least)) {
      return Refused(key, absl::StrCat("it must be at least ", least,
                                       ", the size of a large segment"));
    }
    size = FromMebibytes(mebibytes);
    return absl::OkStatus();
  }

  absl::Status ReadCollection() {
    MEMPLAN_ASSIGN_OR_RETURN(const double threshold,
                             tokens_.ReadReal(kCollection));
    if (!(threshold > 0 && threshold < 1)) {
      return Refused(kCollection, "it must be above 0 and below 1");
    }
    settings_.garbage_collection_threshold = threshold;
    return absl::OkStatus();
  }

  absl::Status ReadFraction() {
    MEMPLAN_ASSIGN_OR_RETURN(const double fraction,
                             tokens_.ReadReal(kFraction));
    if (!(fraction >= 0 && fraction <= 1)) {
      return Refused(kFraction, "it must be in 0 … 1");
    }
    settings_.memory_fraction = fraction;
    return absl::OkStatus();
  }

  absl::Status ReadDivisions() {
    if (!tokens_.NextIs("[")) {
      MEMPLAN_ASSIGN_OR_RETURN(const uint64_t divisions,
                               tokens_.ReadNumber(kDivisions));
      if (!std::has_single_bit(divisions)) {
        return Refused(kDivisions, "it must be a power of two");
      }
      settings_.power2_divisions.fill(divisions);
      return absl::OkStatus();
    }
    tokens_.Skip();
    DivisionList list;
    while (!tokens_.NextIs("]")) {
      MEMPLAN_RETURN_IF_ERROR(ReadDivision(list));
      if (tokens_.NextIs("]")) break;
      tokens_.Skip();  // the comma
      if (tokens_.AtEnd()) {
        return Refused(kDivisions, "its list is not closed by ]");
      }
    }
    tokens_.Skip();
    return absl::OkStatus();
  }

  // How far a list has been read.
  struct DivisionList {
    bool is_first = true;  // no size has been named yet
    size_t last_entry = 0;
  };

  absl::Status ReadDivision(DivisionList& list) {
    auto& table = settings_.power2_divisions;
    const bool is_rest = tokens_.NextIs(">");
    uint64_t mebibytes = 1;
    if (is_rest) {
      tokens_.Skip();
    } else {
      MEMPLAN_ASSIGN_OR_RETURN(mebibytes, tokens_.ReadNumber(kDivisions));
    }
    tokens_.Skip();  // the colon
    MEMPLAN_ASSIGN_OR_RETURN(const uint64_t divisions,
                             tokens_.ReadNumber(kDivisions));
    if (!std::has_single_bit(mebibytes)) {
      return Refused(kDivisions, "a size in its list must be a power of two");
    }
    if (divisions != 0 && !std::has_single_bit(divisions)) {
      return Refused(kDivisions, "divisions must be 0 or a power of two");
    }
    if (is_rest) {
      std::fill(table.begin() + static_cast<ptrdiff_t>(list.last_entry) + 1,
                table.end(), divisions);
      return absl::OkStatus();
    }
    const auto power = static_cast<size_t>(std::countr_zero(mebibytes));
    const size_t entry = std::min(power, table.size() - 1);
    if (list.is_first) std::fill_n(table.begin(), entry, divisions);
    table[entry] = divisions;
    list = {.is_first = false, .last_entry = entry};
    return absl::OkStatus();
  }

  absl::Status ReadIdle(const std::string& key) {
    if (std::find(kIdleSwitches.begin(), kIdleSwitches.end(), key) !=
        kIdleSwitches.end()) {
      return tokens_.ReadBoolean(key).status();
    }
    if (key == kBackend) return ReadBackend();
    if (key == kRegisterThreads) {
      MEMPLAN_ASSIGN_OR_RETURN(const uint64_t threads, tokens_.ReadNumber(key));
      if (std::has_single_bit(threads) && threads <= 128) {
        return absl::OkStatus();
      }
      return Refused(key, "it must be a power of two up to 128");
    }
    if (key == kPinnedSegment) {
      MEMPLAN_ASSIGN_OR_RETURN(const uint64_t size, tokens_.ReadNumber(key));
      return size > 0 ? absl::OkStatus() : Refused(key, "it must be above 0");
    }
    return Unknown(key);
  }

  absl::Status ReadBackend() {
    MEMPLAN_ASSIGN_OR_RETURN(const std::string name,
                             tokens_.ReadWord(kBackend));
    if (name == "native") return absl::OkStatus();
    if (name == "cudaMallocAsync") {
      return Refused(kBackend,
                     "cudaMallocAsync is the driver's own allocator, which is "
                     "not modelled; use native");
    }
    return Refused(kBackend, "it is native or cudaMallocAsync");
  }

  static bool IsKnown(std::string_view key) {
    constexpr std::array<std::string_view, 10> kKeys = {
        kLargeSegmentSize, kMaxSplitSize, kMaxNonSplitRounding,
        kCollection,       kDivisions,    kExpandable,
        kFraction,         kBackend,      kRegisterThreads,
        kPinnedSegment,
    };
    const auto holds = [key](const auto& keys) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    return holds(kKeys) || holds(kIdleSwitches);
  }

  static absl::Status Unknown(std::string_view key) {
    constexpr size_t kShown = 60;
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", absl::CHexEscape(std::string(key.substr(0, kShown))),
        "\" is no allocator setting; write KEY:VALUE with the keys of "
        "PYTORCH_CUDA_ALLOC_CONF, such as max_split_size_mb:128, apart by "
        "single commas"));
  }

  SettingsTokens tokens_;
  AllocatorSettings settings_;
};

}  // namespace

absl::StatusOr<AllocatorSettings> ParseAllocatorSettings(
    std::string_view text) {
  return SettingsReader(text).Read();
}

}  // namespace memplan
