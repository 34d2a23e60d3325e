// Thousands of random operations on one card, with a second, naive count of
// everything: at no grant is more given away than there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "planner/admission/check.h"
#include "planner/admission/ledger.h"
#include "tests/planner/admission/admission_samples.h"

namespace memplan {
namespace {

using testing::Card;
using testing::Promise;

constexpr Bytes kTotal = GiB(80);
constexpr Bytes kReserve = MiB(600);
constexpr Bytes kHeadroom = MiB(256);
constexpr absl::Duration kLifetime = absl::Seconds(60);

// What really is on the card; the ledger learns of it only by readings.
struct Job {
  Bytes promised;
  Bytes used;
  bool adopted = false;
  absl::Duration expires_at;
};

class Card80 {
 public:
  explicit Card80(uint64_t seed) : random_(seed) {}

  void Step() {
    now_ += absl::Milliseconds(Below(2000));
    switch (Below(8)) {
      case 0:
      case 1:
        return Ask();
      case 2:
        return Adopt();
      case 3:
        return Grow();
      case 4:
        return Release();
      case 5:
        return Expire();
      case 6:
        return StrangersMove();
      default:
        return Read();
    }
  }

  void ExpectSumsToBeRight() const {
    PromiseSums sums;
    for (const auto& [id, job] : jobs_) {
      sums.promised += job.promised;
      const Reservation* kept = ledger_.Find(id);
      ASSERT_NE(kept, nullptr);
      const Bytes measured = kept->measured.value_or(Bytes(0));
      sums.measured += measured;
      sums.outstanding += std::max(job.promised - measured, Bytes(0));
      ++(job.adopted ? sums.adopted : sums.waiting);
    }
    EXPECT_EQ(ledger_.SumsOn("GPU-a"), sums);
    EXPECT_EQ(ledger_.size(), jobs_.size());
  }

  int granted() const { return granted_; }

 private:
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound));
  }
  auto AnyJob() {
    auto job = jobs_.begin();
    if (!jobs_.empty()) {
      std::advance(job, Below(static_cast<int64_t>(jobs_.size())));
    }
    return job;
  }

  void Ask() {
    const Bytes bytes(1 + Below(GiB(24).count()));
    const DeviceAccount account = {.device = &reading_,
                                   .sums = ledger_.SumsOn("GPU-a"),
                                   .age = absl::ZeroDuration()};
    if (Judge(StatedNeed(bytes), account, {.headroom = kHeadroom}).verdict !=
        Verdict::kFits) {
      return;
    }
    const std::string id = "job" + std::to_string(++granted_);
    ledger_.Add(Promise(id, bytes, now_ + kLifetime));
    jobs_[id] = {.promised = bytes,
                 .used = {},
                 .adopted = false,
                 .expires_at = now_ + kLifetime};
    // By the reading that the grant went by: strangers, claims, driver reserve
    // and headroom are within the total.
    Bytes sum = kReserve + kHeadroom + *reading_.used;
    for (const auto& [other, job] : jobs_) {
      const Bytes measured = ledger_.Find(other)->measured.value_or(Bytes(0));
      sum += std::max(job.promised - measured, Bytes(0));
    }
    EXPECT_LE(sum, kTotal);
  }

  void Adopt() {
    const auto job = AnyJob();
    if (job == jobs_.end()) return;
    job->second.adopted = true;
    ledger_.Adopt(job->first, {.pid = 1, .start_ticks = 1});
  }

  void Grow() {
    const auto job = AnyJob();
    if (job == jobs_.end() || !job->second.adopted) return;
    job->second.used = Bytes(Below(job->second.promised.count() + 1));
  }

  void Release() {
    const auto job = AnyJob();
    if (job == jobs_.end()) return;
    ledger_.Remove(job->first, ReservationState::kReleased, absl::UnixEpoch());
    jobs_.erase(job);
  }

  void Expire() {
    for (const std::string& id : ledger_.Expired(now_)) {
      EXPECT_FALSE(jobs_.at(id).adopted);
      EXPECT_LE(jobs_.at(id).expires_at, now_);
      ledger_.Remove(id, ReservationState::kExpired, absl::UnixEpoch());
      jobs_.erase(id);
    }
    for (const auto& [id, job] : jobs_) {
      EXPECT_TRUE(job.adopted || job.expires_at > now_) << id;
    }
  }

  void StrangersMove() { strangers_ = Bytes(Below(GiB(30).count())); }

  void Read() {
    Bytes used = strangers_;
    for (const auto& [id, job] : jobs_) used += job.used;
    reading_ = Card(kTotal, kReserve, used);
    for (const auto& [id, job] : jobs_) {
      if (job.adopted) ledger_.Observe(id, job.used);
    }
  }

  std::mt19937_64 random_;
  absl::Duration now_;
  Ledger ledger_;
  Device reading_ = Card(kTotal, kReserve, Bytes(0));
  Bytes strangers_;
  std::map<std::string, Job> jobs_;
  int granted_ = 0;
};

TEST(LedgerPropertyTest, NeverGivesAwayMoreThanThereIs) {
  for (const uint64_t seed : {1, 2, 3}) {
    Card80 card(seed);
    for (int i = 0; i < 20'000; ++i) {
      card.Step();
      if (i % 64 == 0) card.ExpectSumsToBeRight();
    }
    EXPECT_GT(card.granted(), 500) << "the test asks for too much";
  }
}

}  // namespace
}  // namespace memplan
