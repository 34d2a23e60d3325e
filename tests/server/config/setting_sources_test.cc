// Flags, variables and the file, as they are read into settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "server/config/setting.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Colour { kRed, kBlue };

struct Options {
  std::string folder = "/default";
  Bytes room = GiB(1);
  std::chrono::milliseconds wait = std::chrono::seconds(30);
  int64_t places = 8;
  double share = 0.5;
  bool loud = false;
  std::vector<std::string> guests = {"ann"};
  Colour colour = Colour::kRed;
};

std::vector<SettingGroup> Bind(Options& options) {
  return {{"All",
           {{"folder", PathValue(options.folder), "Where things are"},
            {"room", BytesValue(options.room, {Bytes(0), GiB(100)}),
             "How much fits"},
            {"wait_time", DurationValue(options.wait), "How long it takes"},
            {"places", CountValue(options.places, {1, 100}), "How many"},
            {"share", RatioValue(options.share), "Which part"},
            {"loud", YesNoValue(options.loud), "Whether it is loud"},
            {"guests", ListValue(options.guests), "Who comes"},
            {"colour",
             ChoiceValue<Colour>(options.colour, {{"red", Colour::kRed},
                                                  {"blue", Colour::kBlue}}),
             "How it looks"}}}};
}

class SettingSourcesTest : public ::testing::Test {
 protected:
  std::string WriteFile(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }
  // What is wrong with a file of this text.
  std::vector<std::string> WrongIn(const std::string& text) {
    return ReadSettings({.file = WriteFile(text), .variables = {}, .flags = {}},
                        {}, groups_);
  }
  std::vector<std::string> WrongInVariable(const std::string& name,
                                           const std::string& value) {
    return ReadSettings({.file = "", .variables = {{name, value}}, .flags = {}},
                        {"MEMPLAN_SERVER_CONFIG"}, groups_);
  }

  testing::TempDir dir_;
  const std::string file_ = dir_.Path("settings.toml");
  Options options_;
  std::vector<SettingGroup> groups_ = Bind(options_);
};

TEST_F(SettingSourcesTest, ReadsEveryKindOfValueFromTheFile) {
  EXPECT_THAT(WrongIn("folder = '/a'\nroom = \"2GiB\"\nwait_time = \"2h\"\n"
                      "places = 3\nshare = 1\nloud = true\n"
                      "guests = [\"bob\", \"eve\"]\ncolour = \"blue\"\n"),
              IsEmpty());
  EXPECT_EQ(options_.folder, "/a");
  EXPECT_EQ(options_.room.count(), GiB(2).count());
  EXPECT_EQ(options_.wait, std::chrono::hours(2));
  EXPECT_EQ(options_.places, 3);
  EXPECT_EQ(options_.share, 1);
  EXPECT_TRUE(options_.loud);
  EXPECT_THAT(options_.guests, ElementsAre("bob", "eve"));
  EXPECT_EQ(options_.colour, Colour::kBlue);
}

TEST_F(SettingSourcesTest, AFlagBeatsAVariableThatTheFileAndThatTheDefault) {
  const std::vector<std::string> wrong = ReadSettings(
      {.file = WriteFile("places = 2\nroom = '2GiB'\nwait_time = '2s'\n"),
       .variables = {{"MEMPLAN_SERVER_PLACES", "3"},
                     {"MEMPLAN_SERVER_ROOM", "3GiB"}},
       .flags = {{"places", "4"}}},
      {}, groups_);
  EXPECT_THAT(wrong, IsEmpty());
  EXPECT_EQ(options_.places, 4);
  EXPECT_EQ(options_.room.count(), GiB(3).count());
  EXPECT_EQ(options_.wait, std::chrono::seconds(2));
  EXPECT_EQ(options_.share, 0.5);
  const std::string written = WriteSettings(groups_);
  EXPECT_THAT(written, HasSubstr("places = 4  # --places\n"));
  EXPECT_THAT(written, HasSubstr("room = \"3GiB\"  # MEMPLAN_SERVER_ROOM\n"));
  EXPECT_THAT(written, HasSubstr("wait_time = \"2s\"  # " + file_ + ":3\n"));
  EXPECT_THAT(written, HasSubstr("share = 0.5  # default\n"));
}

TEST_F(SettingSourcesTest, ReadsWhatItHasWritten) {
  options_.folder = "/with \"quotes\" and \\ and \n";
  options_.guests = {"a b", "c"};
  options_.loud = true;
  const std::string written = WriteSettings(groups_);
  options_ = Options();
  EXPECT_THAT(WrongIn(written), IsEmpty());
  EXPECT_EQ(options_.folder, "/with \"quotes\" and \\ and \n");
  EXPECT_THAT(options_.guests, ElementsAre("a b", "c"));
  EXPECT_TRUE(options_.loud);
}

TEST_F(SettingSourcesTest, NamesTheLineOfWhatIsWrongInTheFile) {
  EXPECT_THAT(WrongIn("\nroom = 10\n"),
              ElementsAre(HasSubstr("settings.toml:2: room: \"10\" has no "
                                    "unit; write 64MiB")));
  EXPECT_THAT(WrongIn("room = '101GiB'"),
              ElementsAre(HasSubstr("out of range; it takes 0B to 100GiB")));
  EXPECT_THAT(WrongIn("wait_time = '3 fortnights'"),
              ElementsAre(HasSubstr(":1: wait_time: ")));
  EXPECT_THAT(WrongIn("places = '3'"),
              ElementsAre(HasSubstr("a whole number without quotes")));
  EXPECT_THAT(WrongIn("folder = 3"), ElementsAre(HasSubstr("in quotes")));
  EXPECT_THAT(WrongIn("folder = ''"), ElementsAre(HasSubstr("is empty")));
  EXPECT_THAT(WrongIn("loud = 'yes'"),
              ElementsAre(HasSubstr("true or false without quotes")));
  EXPECT_THAT(WrongIn("guests = 'ann'"), ElementsAre(HasSubstr("a list")));
  EXPECT_THAT(WrongIn("colour = 'green'"),
              ElementsAre(HasSubstr("\"green\" is none of red, blue")));
  EXPECT_THAT(WrongIn("[places]\nmost = 3"),
              ElementsAre(HasSubstr("tables are not used")));
}

TEST_F(SettingSourcesTest, SaysAllThatIsWrong) {
  EXPECT_THAT(WrongIn("place = 3\nroom = 1\ncolour = 'green'"),
              ElementsAre(HasSubstr(":1: there is no setting place; did you "
                                    "mean places?"),
                          HasSubstr(":2: room"), HasSubstr(":3: colour")));
}

TEST_F(SettingSourcesTest, NamesLineAndColumnOfWhatIsNoToml) {
  EXPECT_THAT(WrongIn("places = 3\nroom = = 4\n"),
              ElementsAre(HasSubstr("settings.toml:2:8: ")));
  EXPECT_THAT(WrongIn("places = 3\nplaces = 4\n"),
              ElementsAre(HasSubstr("settings.toml:2:")));
}

TEST_F(SettingSourcesTest, NamesAFileThatCannotBeRead) {
  for (const std::string& file : {dir_.Path("none"), dir_.Path(".")}) {
    EXPECT_THAT(
        ReadSettings({.file = file, .variables = {}, .flags = {}}, {}, groups_),
        ElementsAre(HasSubstr("cannot read " + file)));
  }
}

TEST_F(SettingSourcesTest, RefusesUnknownVariablesAndNamesTheNearest) {
  EXPECT_THAT(
      WrongInVariable("MEMPLAN_SERVER_PLACE", "3"),
      ElementsAre(HasSubstr("there is no variable MEMPLAN_SERVER_PLACE; did "
                            "you mean MEMPLAN_SERVER_PLACES?")));
  EXPECT_THAT(WrongInVariable("MEMPLAN_SERVER_places", "3"),
              ElementsAre(HasSubstr("there is no variable")));
  EXPECT_THAT(WrongInVariable("MEMPLAN_SERVER_PLACES", "0"),
              ElementsAre("MEMPLAN_SERVER_PLACES: \"0\" is out of range; it "
                          "takes 1 to 100"));
  EXPECT_THAT(WrongInVariable("MEMPLAN_SERVER_CONFIG", "/x"), IsEmpty());
}

TEST_F(SettingSourcesTest, LeavesTheVariablesOfKubernetesAlone) {
  for (const char* name :
       {"MEMPLAN_SERVER_SERVICE_HOST", "MEMPLAN_SERVER_SERVICE_PORT",
        "MEMPLAN_SERVER_SERVICE_PORT_GRPC", "MEMPLAN_SERVER_PORT",
        "MEMPLAN_SERVER_PORT_7070_TCP", "MEMPLAN_SERVER_PORT_7070_TCP_ADDR"}) {
    EXPECT_THAT(WrongInVariable(name, "x"), IsEmpty()) << name;
  }
}

TEST_F(SettingSourcesTest, RefusesWhatIsWrongInAFlag) {
  EXPECT_THAT(
      ReadSettings({.file = "", .variables = {}, .flags = {{"wait_time", "5"}}},
                   {}, groups_),
      ElementsAre(HasSubstr("--wait-time: \"5\" has no unit")));
}

}  // namespace
}  // namespace memplan
