#include "server/config/nearest_name.h"

#include <gtest/gtest.h>

namespace memplan {
namespace {

const std::vector<std::string> kNames = {"store", "socket", "socket_mode",
                                         "drain_grace"};

TEST(NearestNameTest, FindsWhatAFewEditsMake) {
  EXPECT_EQ(NearestName("stor", kNames), "store");
  EXPECT_EQ(NearestName("sockte_mode", kNames), "socket_mode");
  EXPECT_EQ(NearestName("drain-grace", kNames), "drain_grace");
}

TEST(NearestNameTest, GuessesNothingFromFarAway) {
  EXPECT_EQ(NearestName("colour", kNames), "");
  EXPECT_EQ(NearestName("", kNames), "");
}

}  // namespace
}  // namespace memplan
