// What the program says when it cannot start: what is wrong, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/server/api/server_program_fixture.h"

namespace memplan::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StartErrorsTest : public ServerProgramTest {
 protected:
  // What the program says; it must end by itself, with this exit code.
  std::string WordsOf(const std::vector<std::string>& more, int exit_code = 1) {
    ServerProcess server(Arguments(more));
    std::string words = server.WaitForWords();
    EXPECT_EQ(server.WaitForExit(), exit_code) << words;
    return words;
  }
};

TEST_F(StartErrorsTest, NamesWhatAnotherDaemonHas) {
  ServerProcess first(Arguments());
  const std::string ready = first.WaitUntilReady();
  EXPECT_THAT(WordsOf({}), AllOf(HasSubstr("a daemon answers at " + Socket()),
                                 HasSubstr("stop it, or choose another")));
  const std::string other = dir_.Path("other.sock");
  EXPECT_THAT(WordsOf({"--socket", other}),
              AllOf(HasSubstr("with pid " + std::to_string(first.pid())),
                    HasSubstr("choose another folder")));
  const std::string store = dir_.Path("other");
  EXPECT_THAT(WordsOf({"--socket", other, "--store", store, "--listen",
                       ValueIn(ready, "tcp")}),
              HasSubstr("choose another with --listen"));
  EXPECT_THAT(WordsOf({"--socket", other, "--store", store, "--metrics",
                       ValueIn(ready, "metrics")}),
              HasSubstr("--metrics none"));
  EXPECT_THAT(WordsOf({"--socket", other, "--store", store, "--observer-socket",
                       Socket()}),
              HasSubstr("choose another --observer-socket"));
}

TEST_F(StartErrorsTest, NamesAPathThatIsTooLong) {
  EXPECT_THAT(WordsOf({"--socket", "/" + std::string(107, 'x')}),
              AllOf(HasSubstr("108 bytes"), HasSubstr("at most 107")));
}

TEST_F(StartErrorsTest, NamesAFolderThatIsAFile) {
  std::ofstream(dir_.Path("file")) << "text";
  EXPECT_THAT(WordsOf({"--store", dir_.Path("file")}),
              AllOf(HasSubstr(dir_.Path("file")), HasSubstr("--store")));
  EXPECT_THAT(WordsOf({"--socket", dir_.Path("file/socket")}),
              AllOf(HasSubstr(dir_.Path("file")), HasSubstr("--socket")));
  EXPECT_THAT(WordsOf({"--socket", dir_.Path("file")}),
              HasSubstr("is no socket"));
}

// /proc takes no folders, whoever asks, as a file system that is only to be read.
TEST_F(StartErrorsTest, NamesAFolderInWhichNothingCanBeMade) {
  EXPECT_THAT(WordsOf({"--store", "/proc/memplan"}),
              AllOf(HasSubstr("/proc/memplan"), HasSubstr("--store")));
  EXPECT_THAT(WordsOf({"--socket", "/proc/memplan.sock"}),
              AllOf(HasSubstr("/proc/memplan.sock"), HasSubstr("--socket")));
}

TEST_F(StartErrorsTest, NamesTheLineOfAWrongSetting) {
  const std::string file = dir_.Path("settings.toml");
  std::ofstream(file) << "drain_grace = \"10s\"\ndrain_grase = \"20s\"\n";
  EXPECT_THAT(WordsOf({"--config", file, "--check-config"}, 2),
              HasSubstr(file + ":2: there is no setting drain_grase; did you "
                               "mean drain_grace?"));
  std::ofstream(file) << "drain_grace = \"10s\n";
  EXPECT_THAT(WordsOf({"--config", file}, 2), HasSubstr(file + ":1:"));
  std::ofstream(file) << "drain_grace = \"10s\"\n";
  EXPECT_EQ(WordsOf({"--config", file, "--check-config"}, 0), "");
  EXPECT_FALSE(std::filesystem::exists(dir_.Path("store")));
}

}  // namespace
}  // namespace memplan::testing
