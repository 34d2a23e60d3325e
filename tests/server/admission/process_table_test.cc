#include "server/admission/process_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace memplan {
namespace {

TEST(ProcessTableTest, ReadsALineWhoseNameHasBracketsAndSpaces) {
  // As proc(5) has it, with the values that count made up.
  const auto entry = ParseProcessStat(
      "4711 (a) b (c) S 99 4711 4711 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 "
      "123456 789 250 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->parent, 99);
  EXPECT_EQ(entry->start_ticks, 123456);
  EXPECT_EQ(entry->resident, Bytes(250 * sysconf(_SC_PAGESIZE)));
}

TEST(ProcessTableTest, AZombieIsNoProcess) {
  EXPECT_EQ(ParseProcessStat("1 (x) Z 99 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 "
                             "123456 789 250 1 1 1"),
            std::nullopt);
  EXPECT_EQ(ParseProcessStat("nonsense"), std::nullopt);
}

TEST(ProcessTableTest, FindsThisProcessAndItsParent) {
  const SystemProcessTable table;
  const auto self = table.Find(getpid());
  ASSERT_TRUE(self.has_value());
  EXPECT_EQ(self->parent, getppid());
  EXPECT_GT(self->resident, Bytes(0));
  EXPECT_TRUE(table.All().contains(getpid()));
  EXPECT_EQ(table.Find(-1), std::nullopt);
}

}  // namespace
}  // namespace memplan
