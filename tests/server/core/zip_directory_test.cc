#include "server/store/zip_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/core/memory_file.h"
#include "tests/server/core/zip_builder.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::MemoryFile;
using ::memplan::testing::StatusIs;
using ::memplan::testing::ZipBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kLimit = 1 << 20;

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& bytes) {
  return ReadZipNames(MemoryFile(bytes).get(), kLimit);
}

TEST(ReadZipNamesTest, GivesTheNamesInOrder) {
  EXPECT_THAT(NamesIn(ZipBuilder{.names = {"m/b", "m/a"}}.Build()),
              IsOkAndHolds(ElementsAre("m/b", "m/a")));
}

TEST(ReadZipNamesTest, ReadsZip64) {
  EXPECT_THAT(NamesIn(ZipBuilder{.names = {"m/a"}, .zip64 = true}.Build()),
              IsOkAndHolds(ElementsAre("m/a")));
}

TEST(ReadZipNamesTest, PassesOverACommentThatHoldsAnEndSignature) {
  const ZipBuilder zip{.names = {"m/a"}, .comment = "PK\x05\x06 not the end"};
  EXPECT_THAT(NamesIn(zip.Build()), IsOkAndHolds(ElementsAre("m/a")));
}

TEST(ReadZipNamesTest, FindsTheEndBeforeTheLongestComment) {
  const ZipBuilder zip{.names = {"m/a"}, .comment = std::string(0xffff, 'c')};
  EXPECT_THAT(NamesIn(zip.Build()), IsOkAndHolds(ElementsAre("m/a")));
}

TEST(ReadZipNamesTest, RefusesEveryShorterFile) {
  for (const bool zip64 : {false, true}) {
    const std::string whole =
        ZipBuilder{.names = {"m/a", "m/b"}, .zip64 = zip64}.Build();
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THAT(NamesIn(whole.substr(0, size)),
                  StatusIs(absl::StatusCode::kInvalidArgument))
          << size;
    }
  }
}

TEST(ReadZipNamesTest, SurvivesEveryByteChanged) {
  for (const bool zip64 : {false, true}) {
    const std::string whole =
        ZipBuilder{.names = {"m/a", "m/b"}, .zip64 = zip64}.Build();
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const int value : {0x00, 0x7f, 0x80, 0xff}) {
        std::string changed = whole;
        changed[at] = static_cast<char>(value);
        const auto names = NamesIn(changed);
        EXPECT_TRUE(names.ok() || absl::IsInvalidArgument(names.status()));
      }
    }
  }
}

struct BrokenZip {
  std::string name;
  ZipBuilder zip;
  std::string message;
};

class ReadZipNamesBrokenTest : public ::testing::TestWithParam<BrokenZip> {};

TEST_P(ReadZipNamesBrokenTest, IsRefused) {
  EXPECT_THAT(NamesIn(GetParam().zip.Build()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().message)));
}

constexpr uint64_t kHuge = 0xffff'ffff'ffff'fff0;

INSTANTIATE_TEST_SUITE_P(
    Places, ReadZipNamesBrokenTest,
    ::testing::ValuesIn<BrokenZip>({
        {"DirectoryPastTheEnd",
         {.names = {"m/a"}, .directory_size = 1000},
         "outside the file"},
        {"OffsetPastTheEnd",
         {.names = {"m/a"}, .directory_offset = 1000},
         "outside the file"},
        {"SumThatWrapsAround",
         {.names = {"m/a"},
          .zip64 = true,
          .directory_size = 0x20,
          .directory_offset = kHuge},
         "outside the file"},
        {"MoreEntriesThanRoom",
         {.names = {"m/a"}, .zip64 = true, .entries = kHuge},
         "too short for its number of entries"},
        {"EntriesThatAreNoEntries",
         {.names = {"m/a"}, .directory_size = 48, .directory_offset = 0},
         "entry 0 of its directory is damaged"},
        {"LocatorPastTheEnd",
         {.names = {"m/a"}, .zip64 = true, .zip64_record_offset = kHuge},
         "locator points outside"},
        {"LocatorToNoRecord",
         {.names = {"m/a"}, .zip64 = true, .zip64_record_offset = 0},
         "not where the locator says"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(ReadZipNamesTest, RefusesANameThatPassesTheDirectory) {
  std::string zip = ZipBuilder{.names = {"m/a"}}.Build();
  const size_t entry = zip.find("PK\x01\x02");
  zip[entry + 28] = '\x04';  // one more than the name has
  EXPECT_THAT(NamesIn(zip), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("entry 0 of its directory "
                                               "passes its end")));
}

TEST(ReadZipNamesTest, RefusesADirectoryAboveTheLimit) {
  // One entry of 46 + 3 bytes.
  const std::string zip = ZipBuilder{.names = {"m/a"}}.Build();
  EXPECT_THAT(ReadZipNames(MemoryFile(zip).get(), 49),
              IsOkAndHolds(ElementsAre("m/a")));
  EXPECT_THAT(ReadZipNames(MemoryFile(zip).get(), 48),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("of 49 bytes is longer than the 48")));
}

TEST(ReadZipNamesTest, RefusesAFileThatOnlyEndsLikeAZip) {
  EXPECT_THAT(NamesIn("MZ" + ZipBuilder{.names = {"m/a"}}.Build()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not begin as a zip")));
}

}  // namespace
}  // namespace memplan
