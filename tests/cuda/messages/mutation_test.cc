// Good messages with bytes changed, cut and doubled: whatever comes out, the
// decoders neither throw nor crash, and what they accept they write again as
// they read it. The seed is fixed, so that a failure can be repeated.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cuda/worker/messages/messages.h"
#include "gtest/gtest.h"
#include "tests/cuda/messages/sample_messages.h"

namespace memplan::gpu {
namespace {

constexpr int kMutationsOfEach = 4000;

class Mutator {
 public:
  std::string Mutated(std::string text) {
    const size_t changes = 1 + Below(4);
    for (size_t i = 0; i < changes && !text.empty(); ++i) Change(text);
    return text;
  }

 private:
  size_t Below(size_t end) { return random_() % end; }

  // A byte that means something in JSON, more often than not.
  char Byte() {
    constexpr std::string_view kTelling = "{}[]\",:-+.0123456789eEtfn\\u \n";
    if (Below(4) == 0) return static_cast<char>(Below(256));
    return kTelling[Below(kTelling.size())];
  }

  void Change(std::string& text) {
    const size_t at = Below(text.size());
    const size_t length = 1 + Below(8);
    switch (Below(5)) {
      case 0:
        text[at] = Byte();
        return;
      case 1:
        text.insert(at, 1, Byte());
        return;
      case 2:
        text.erase(at, length);
        return;
      case 3:
        text.insert(at, text.substr(Below(text.size()), length));
        return;
      default:
        text.resize(at);
    }
  }

  // NOLINTNEXTLINE(bugprone-random-generator-seed): a failure can be repeated
  std::mt19937_64 random_{20260101};
};

TEST(MutationTest, NoWorkerMessageBreaksTheDecoder) {
  Mutator mutator;
  int accepted = 0;
  for (const WorkerMessage& message : SampleWorkerMessages()) {
    const std::string good = Encode(message);
    for (int i = 0; i < kMutationsOfEach; ++i) {
      const std::string text = mutator.Mutated(good);
      const auto decoded = DecodeWorkerMessage(text);
      if (!decoded.ok()) continue;
      ++accepted;
      const auto again = DecodeWorkerMessage(Encode(*decoded));
      ASSERT_TRUE(again.ok()) << text << "\n" << again.status();
      ASSERT_EQ(*again, *decoded) << text;
    }
  }
  EXPECT_GT(accepted, 100);  // changed digits and letters are fine
}

TEST(MutationTest, NoDaemonMessageBreaksTheDecoder) {
  Mutator mutator;
  int accepted = 0;
  for (const DaemonMessage& message : SampleDaemonMessages()) {
    const std::string good = Encode(message);
    for (int i = 0; i < kMutationsOfEach; ++i) {
      const std::string text = mutator.Mutated(good);
      const auto decoded = DecodeDaemonMessage(text);
      if (!decoded.ok()) continue;
      ++accepted;
      const auto again = DecodeDaemonMessage(Encode(*decoded));
      ASSERT_TRUE(again.ok()) << text << "\n" << again.status();
      ASSERT_EQ(*again, *decoded) << text;
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace memplan::gpu
