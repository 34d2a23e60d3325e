// Private daemons made of shell scripts.
#include "client/cli/private_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PrivateDaemonTest : public ::testing::Test {
 protected:
  // A program that runs `body` with its arguments kept in the file `arguments`.
  std::string Program(const std::string& body) {
    const std::string path = folder_.Path("memplan-server");
    std::ofstream(path) << "#!/bin/sh\necho \"$@\" > " << ArgumentsPath()
                        << "\n"
                        << body << "\n";
    chmod(path.c_str(), 0700);
    return path;
  }

  std::string ArgumentsPath() const { return folder_.Path("arguments"); }

  std::string Arguments() const {
    std::ifstream file(ArgumentsPath());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir folder_;
};

// Serves until its standard input ends.
constexpr char kServes[] = "echo it is ready socket=s >&2; exec cat";

bool ProcessExists(pid_t pid) { return kill(pid, 0) == 0; }

TEST_F(PrivateDaemonTest, ServesOnASocketOfItsOwnUntilDestroyed) {
  auto daemon = PrivateDaemon::Start(
      {.program = Program(kServes), .arguments = {"--store", "/s"}});
  ASSERT_THAT(daemon, IsOk());
  const std::string socket = (*daemon)->socket_path();
  const pid_t pid = (*daemon)->pid();
  EXPECT_EQ(Arguments(),
            "--socket " + socket +
                " --observer-socket none --listen none --metrics none "
                "--exit-with-stdin --drain-grace 0 --log-format text "
                "--store /s\n");
  const std::filesystem::path socket_folder =
      std::filesystem::path(socket).parent_path();
  EXPECT_EQ(std::filesystem::status(socket_folder).permissions(),
            std::filesystem::perms::owner_all);
  EXPECT_TRUE(ProcessExists(pid));
  daemon->reset();
  EXPECT_FALSE(ProcessExists(pid));
  EXPECT_FALSE(std::filesystem::exists(socket_folder));
}

TEST_F(PrivateDaemonTest, IsForcedToEndIfItDoesNotWhenAsked) {
  auto daemon = PrivateDaemon::Start(
      {.program = Program(std::string("trap '' TERM; ") + kServes),
       .stop_patience = std::chrono::milliseconds(20)});
  ASSERT_THAT(daemon, IsOk());
  const pid_t pid = (*daemon)->pid();
  daemon->reset();
  EXPECT_FALSE(ProcessExists(pid));
}

TEST_F(PrivateDaemonTest, CanBeEndedAtOnce) {
  auto daemon = PrivateDaemon::Start({.program = Program(kServes)});
  ASSERT_THAT(daemon, IsOk());
  const std::string socket = (*daemon)->socket_path();
  (*daemon)->EndAtOnce();
  EXPECT_FALSE(
      std::filesystem::exists(std::filesystem::path(socket).parent_path()));
}

TEST_F(PrivateDaemonTest, ShowsWhatItSaidIfItEndsFirst) {
  EXPECT_THAT(PrivateDaemon::Start(
                  {.program = Program("echo the store is in use >&2; exit 3")}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("ended before it served"),
                             HasSubstr("the store is in use"))));
}

TEST_F(PrivateDaemonTest, GivesUpIfItNeverServes) {
  EXPECT_THAT(
      PrivateDaemon::Start({.program = Program("echo waiting >&2; exec cat"),
                            .start_patience = std::chrono::milliseconds(200)}),
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("did not serve within 200ms")));
}

TEST_F(PrivateDaemonTest, TellsThatTheProgramCannotBeStarted) {
  EXPECT_THAT(
      PrivateDaemon::Start({.program = folder_.Path("none")}),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder_.Path("none"))));
}

TEST_F(PrivateDaemonTest, KeepsTheLastOfWhatItSays) {
  auto daemon = PrivateDaemon::Start(
      {.program = Program("i=0; while [ $i -lt 1000 ]; do echo line $i >&2; "
                          "i=$((i+1)); done; echo it is ready socket=s >&2; "
                          "exec cat")});
  ASSERT_THAT(daemon, IsOk());
  const std::string words = (*daemon)->LastWords();
  EXPECT_LE(words.size(), 4096U);
  EXPECT_THAT(words, AllOf(StartsWith("line "), HasSubstr("line 999\n")));
}

}  // namespace
}  // namespace memplan
