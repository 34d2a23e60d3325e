#include "server/services/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/server/api/reason_matchers.h"

namespace memplan {
namespace {

using memplan::testing::FailsWith;

PageKey Key(const std::string& id, int64_t micros) {
  return {.id = id,
          .create_time = std::chrono::system_clock::time_point(
              std::chrono::microseconds(micros))};
}

// Newest first.
const std::vector<PageKey> kKeys = {Key("d", 40), Key("c", 30), Key("b", 20),
                                    Key("a", 10)};

size_t BeginAfter(const PageKey& last, const std::vector<PageKey>& keys) {
  const auto page = FindPage(2, PageToken(last), keys);
  EXPECT_TRUE(page.ok()) << page.status();
  return page.ok() ? page->begin : 0;
}

TEST(FindPageTest, TheFirstPageBeginsAtTheNewest) {
  const auto page = FindPage(0, "", kKeys);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->begin, 0U);
  EXPECT_EQ(page->size, 100U);
}

TEST(FindPageTest, TheNextPageBeginsAfterTheLastItem) {
  EXPECT_EQ(BeginAfter(kKeys[1], kKeys), 2U);
}

TEST(FindPageTest, NewItemsDoNotShiftThePage) {
  std::vector<PageKey> keys = kKeys;
  keys.insert(keys.begin(), Key("e", 50));
  EXPECT_EQ(BeginAfter(kKeys[1], keys), 3U);
}

TEST(FindPageTest, GoesOnWithOlderItemsIfTheLastOneIsGone) {
  std::vector<PageKey> keys = kKeys;
  keys.erase(keys.begin() + 1);
  EXPECT_EQ(BeginAfter(kKeys[1], keys), 1U);
}

TEST(FindPageTest, IsEmptyAfterTheOldest) {
  EXPECT_EQ(BeginAfter(kKeys[3], kKeys), 4U);
  EXPECT_EQ(BeginAfter(kKeys[3], {}), 0U);
}

TEST(FindPageTest, RefusesASizeOutOfItsRange) {
  const auto refused = FailsWith(absl::StatusCode::kInvalidArgument,
                                 "INVALID_REQUEST", "page_size");
  EXPECT_THAT(FindPage(-1, "", kKeys), refused);
  EXPECT_THAT(FindPage(1001, "", kKeys), refused);
  EXPECT_TRUE(FindPage(1000, "", kKeys).ok());
}

TEST(FindPageTest, RefusesATokenOfSomebodyElse) {
  for (const char* token : {"x", "12", ".a", "9999999999999999999999.a"}) {
    EXPECT_THAT(FindPage(2, token, kKeys),
                FailsWith(absl::StatusCode::kInvalidArgument, "INVALID_REQUEST",
                          "page_token"))
        << token;
  }
}

}  // namespace
}  // namespace memplan
