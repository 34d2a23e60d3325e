#include "server/store/call_results.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/trace/call_text.h"
#include "server/store/sha256.h"

namespace memplan {
namespace {

// More than one request of any operator: such a result is not worth keeping.
constexpr int64_t kMostBytesOfRequest = int64_t{1} << 44;
// The largest blob that is taken for plans.
constexpr size_t kMostPlanBytes = size_t{64} << 20;

// How workers ask a call for its plans. It counts up when they learn more from
// the same call: what was kept before says too little.
constexpr int kAsking = 2;

// The key of a call: what it is, how it was asked and where it ran. Parts cannot
// run into each other, since none has a line's end.
std::string KeyOf(const CallPlace& place, const DistinctCall& call) {
  Sha256 hash;
  hash.Update(absl::StrCat("asking ", kAsking, "\n", place.device_name, "\n",
                           place.driver_version, "\n", place.cudnn_version,
                           "\n", place.torch_version, "\n"));
  if (!place.switches.empty()) {
    hash.Update(absl::StrCat(place.switches, "\n"));
  }
  hash.Update(absl::StrCat(call.operator_name, "\n", WriteCallText(call)));
  return hash.Finish();
}

bool IsWorthKeeping(const KeptPlans& plans) {
  return !plans.empty() &&
         std::all_of(plans.begin(), plans.end(), [](const CallPlan& plan) {
           return std::all_of(plan.begin(), plan.end(), [](const CallStep& s) {
             return s.bytes <= kMostBytesOfRequest;
           });
         });
}

// Unsigned numbers, seven bits a byte, lowest first, the last without the high
// bit: most sizes take three or four.
void PutNumber(uint64_t number, std::string& blob) {
  while (number >= 0x80) {
    blob.push_back(static_cast<char>((number & 0x7f) | 0x80));
    number >>= 7;
  }
  blob.push_back(static_cast<char>(number));
}

class BlobReader {
 public:
  explicit BlobReader(std::string_view blob) : rest_(blob) {}

  // Unset past the end, or for a number that has no 64 bits.
  std::optional<uint64_t> Number() {
    uint64_t number = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      number |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) return number;
    }
    return std::nullopt;
  }
  // A count of things that take a byte at least.
  std::optional<size_t> Count() {
    const auto count = Number();
    if (!count || *count > rest_.size()) return std::nullopt;
    return static_cast<size_t>(*count);
  }
  bool IsAtEnd() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::string EncodePlans(const KeptPlans& plans) {
  std::string blob;
  PutNumber(plans.size(), blob);
  for (const CallPlan& plan : plans) {
    PutNumber(plan.size(), blob);
    for (const CallStep& step : plan) {
      PutNumber(step.request, blob);
      PutNumber(static_cast<uint64_t>(step.bytes), blob);
    }
  }
  return blob;
}

std::optional<CallPlan> ReadPlan(BlobReader& reader) {
  const auto steps = reader.Count();
  if (!steps) return std::nullopt;
  CallPlan plan;
  for (size_t i = 0; i < *steps; ++i) {
    const auto request = reader.Number();
    const auto bytes = reader.Number();
    if (!request || !bytes || *bytes > uint64_t{kMostBytesOfRequest}) {
      return std::nullopt;
    }
    plan.push_back(
        {static_cast<uint32_t>(*request), static_cast<int64_t>(*bytes)});
  }
  return plan;
}

// Nothing for a blob that is damaged.
std::optional<KeptPlans> DecodePlans(std::string_view blob) {
  BlobReader reader(blob);
  const auto count = reader.Count();
  if (!count || *count == 0) return std::nullopt;
  KeptPlans plans;
  for (size_t i = 0; i < *count; ++i) {
    auto plan = ReadPlan(reader);
    if (!plan) return std::nullopt;
    plans.push_back(*std::move(plan));
  }
  if (!reader.IsAtEnd()) return std::nullopt;
  return plans;
}

// The uses are numbered on, so that the smallest numbers are those used the
// longest ago, whatever the clock does.
class StoredCallResults : public CallResults {
 public:
  StoredCallResults(Database& database, int64_t most)
      : database_(database), most_(most) {}

  absl::Status Load() {
    const std::lock_guard lock(mutex_);
    return database_.Run(
        "read the results of operators", [&](SQLite::Database& connection) {
          counts_.kept = CountIn(connection);
          last_use_ = connection
                          .execAndGet(
                              "SELECT coalesce(max(last_use), 0) "
                              "FROM call_results")
                          .getInt64();
          return absl::OkStatus();
        });
  }

  std::vector<std::optional<KeptPlans>> Find(
      const CallPlace& place, const std::vector<DistinctCall>& calls) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::optional<KeptPlans>> found(calls.size());
    ++last_use_;
    Log(database_.Run(
        "read results of operators", [&](SQLite::Database& connection) {
          for (size_t i = 0; i < calls.size(); ++i) {
            found[i] = FindOne(connection, KeyOf(place, calls[i]));
          }
          return absl::OkStatus();
        }));
    for (const auto& plans : found) {
      ++(plans ? counts_.hits : counts_.misses);
    }
    return found;
  }

  void Keep(const CallPlace& place, const std::vector<DistinctCall>& calls,
            const std::vector<KeptPlans>& plans) override {
    const std::lock_guard lock(mutex_);
    ++last_use_;
    Log(database_.Run("keep results of operators",
                      [&](SQLite::Database& connection) {
                        for (size_t i = 0; i < calls.size(); ++i) {
                          if (!IsWorthKeeping(plans[i])) continue;
                          KeepOne(connection, KeyOf(place, calls[i]), plans[i]);
                        }
                        DropTheOldest(connection);
                        return absl::OkStatus();
                      }));
  }

  CallResultCounts Counts() const override {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  static int64_t CountIn(SQLite::Database& connection) {
    return connection.execAndGet("SELECT count(*) FROM call_results")
        .getInt64();
  }

  static void Log(const absl::Status& status) {
    if (!status.ok()) spdlog::warn("{}", std::string(status.message()));
  }

  std::optional<KeptPlans> FindOne(SQLite::Database& connection,
                                   const std::string& key) const {
    SQLite::Statement query(connection,
                            "UPDATE call_results SET last_use = ? "
                            "WHERE key = ? RETURNING plans");
    query.bind(1, last_use_);
    query.bind(2, key);
    if (!query.executeStep()) return std::nullopt;
    const std::string blob = query.getColumn(0).getString();
    return DecodePlans(blob);
  }

  void KeepOne(SQLite::Database& connection, const std::string& key,
               const KeptPlans& plans) const {
    const std::string blob = EncodePlans(plans);
    if (blob.size() > kMostPlanBytes) return;
    SQLite::Statement upsert(
        connection,
        "INSERT INTO call_results (key, plans, last_use) VALUES (?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET plans = excluded.plans, "
        "last_use = excluded.last_use");
    upsert.bind(1, key);
    upsert.bind(2, blob.data(), static_cast<int>(blob.size()));
    upsert.bind(3, last_use_);
    upsert.exec();
  }

  void DropTheOldest(SQLite::Database& connection) {
    const int64_t surplus = CountIn(connection) - most_;
    if (surplus > 0) {
      SQLite::Statement drop(
          connection,
          "DELETE FROM call_results WHERE key IN (SELECT key FROM call_results "
          "ORDER BY last_use LIMIT ?)");
      drop.bind(1, surplus);
      counts_.dropped += drop.exec();
    }
    counts_.kept = CountIn(connection);
  }

  Database& database_;
  const int64_t most_;
  mutable std::mutex mutex_;
  CallResultCounts counts_;  // under mutex_
  int64_t last_use_ = 0;     // under mutex_
};

}  // namespace

absl::StatusOr<std::unique_ptr<CallResults>> OpenCallResults(Database& database,
                                                             int64_t most) {
  auto results = std::make_unique<StoredCallResults>(database, most);
  MEMPLAN_RETURN_IF_ERROR(results->Load());
  return results;
}

}  // namespace memplan
