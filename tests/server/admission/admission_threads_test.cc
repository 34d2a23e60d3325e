// Sixteen clients at once, and a daemon that is restarted between: nothing is
// given away twice, nothing that a client was told of is lost.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/server/admission/admission_world.h"

namespace memplan::testing {
namespace {

constexpr int kClients = 16;
constexpr int kOperations = 80;
constexpr int kRestarts = 3;
constexpr Bytes kCard = GiB(140);

class Client {
 public:
  Client(AdmissionWorld& world, unsigned seed) : world_(world), random_(seed) {}

  void Work() {
    for (int i = 0; i < kOperations; ++i) {
      switch (random_() % 4) {
        case 0:
          Release();
          break;
        case 1:
          world_.Check(GiB(1 + static_cast<int64_t>(random_() % 40)));
          break;
        default:
          Reserve();
      }
    }
  }

  const std::map<std::string, Reservation>& held() const { return held_; }

 private:
  void Reserve() {
    const Bytes bytes(1 + static_cast<int64_t>(random_()) % GiB(30).count());
    const auto admitted =
        world_.TryReserve({.job = {.need = bytes}, .lifetime = absl::Hours(1)});
    ASSERT_TRUE(admitted.ok()) << admitted.status();
    if (!admitted->reservation) return;
    const Answer& answer = admitted->answer;
    EXPECT_LE(*answer.device->used + answer.sums.outstanding, kCard);
    held_[admitted->reservation->id] = *admitted->reservation;
  }
  void Release() {
    if (held_.empty()) return;
    const Reservation mine = held_.begin()->second;
    held_.erase(mine.id);
    EXPECT_TRUE(world_.Release(mine).ok());
  }

  AdmissionWorld& world_;
  std::mt19937 random_;
  std::map<std::string, Reservation> held_;
};

TEST(AdmissionThreadsTest, GiveNothingTwiceAndLoseNothingOverRestarts) {
  AdmissionWorld world;
  world.SetCard("GPU-a", kCard, {{9, "stranger", GiB(7)}});
  std::vector<Client> clients;
  for (unsigned i = 0; i < kClients; ++i) clients.emplace_back(world, i + 1);
  for (int round = 0; round < kRestarts; ++round) {
    std::vector<std::thread> threads;
    for (Client& client : clients) {
      threads.emplace_back([&client] { client.Work(); });
    }
    for (std::thread& thread : threads) thread.join();
    world.Restart();
    world.Pass(absl::Seconds(1));
    std::set<std::string> told;
    Bytes promised;
    for (const Client& client : clients) {
      for (const auto& [id, reservation] : client.held()) {
        told.insert(id);
        promised += reservation.promised;
      }
    }
    std::set<std::string> kept;
    for (const auto& [id, created] : world.admission().List(false, "")) {
      kept.insert(id);
    }
    EXPECT_EQ(kept, told);
    EXPECT_EQ(world.Check(Bytes(1)).sums.promised, promised);
    EXPECT_LE(promised + GiB(7), kCard);
  }
}

}  // namespace
}  // namespace memplan::testing
