#include "server/services/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/server/api/reason_matchers.h"
#include "tests/support/status_matchers.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;

PlaceRules Rules() {
  return {.what = "uploads",
          .reason = "TOO_MANY_UPLOADS",
          .most = 3,
          .most_for_one = 2};
}

TEST(PlacesTest, RefusesOneMoreThanThereAre) {
  Places places(Rules());
  std::vector<Place> taken;
  for (const char* client : {"a", "b", "c"}) {
    auto place = places.Take(client);
    ASSERT_TRUE(place.ok());
    taken.push_back(*std::move(place));
  }
  EXPECT_EQ(places.taken(), 3);
  const auto refused = places.Take("d");
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status()));
  EXPECT_EQ(ReasonOf(refused.status()), "TOO_MANY_UPLOADS");
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("3 uploads are in progress"));
  taken.pop_back();
  EXPECT_TRUE(places.Take("d").ok());
}

TEST(PlacesTest, LeavesSomeForOtherClients) {
  Places places(Rules());
  const auto first = places.Take("a");
  std::optional<Place> second = *places.Take("a");
  const auto refused = places.Take("a");
  EXPECT_EQ(ReasonOf(refused.status()), "TOO_MANY_UPLOADS");
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("most one client may have"));
  EXPECT_TRUE(places.Take("b").ok());
  second.reset();
  EXPECT_TRUE(places.Take("a").ok());
}

TEST(PlacesTest, BoundsTogetherWhomItCannotTellApart) {
  Places places(Rules());
  const auto first = places.Take("");
  const auto second = places.Take("");
  EXPECT_TRUE(places.Take("").ok());
}

TEST(PlacesTest, GivesNoneOnceClosed) {
  Places places(Rules());
  places.Close();
  const auto refused = places.Take("a");
  EXPECT_TRUE(absl::IsUnavailable(refused.status()));
  EXPECT_EQ(ReasonOf(refused.status()), "SHUTTING_DOWN");
}

TEST(PlacesTest, APlaceMayOutliveThem) {
  Place place;
  {
    Places places(Rules());
    place = *places.Take("a");
  }
  place = Place();
}

}  // namespace
}  // namespace memplan::testing
