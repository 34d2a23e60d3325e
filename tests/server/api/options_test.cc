#include "server/program/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

const UserEnvironment kUser = {.is_root = false,
                               .home = "/home/ann",
                               .state_folder = "",
                               .runtime_folder = "/run/user/7"};

ServerOptions Parse(std::vector<std::string> arguments,
                    const UserEnvironment& user = kUser) {
  const auto parsed = ParseOptions(std::move(arguments), user);
  const auto* options = std::get_if<ServerOptions>(&parsed);
  EXPECT_NE(options, nullptr);
  return options == nullptr ? ServerOptions() : *options;
}

EndAtOnce End(std::vector<std::string> arguments,
              const UserEnvironment& user = kUser) {
  const auto parsed = ParseOptions(std::move(arguments), user);
  const auto* end = std::get_if<EndAtOnce>(&parsed);
  EXPECT_NE(end, nullptr);
  return end == nullptr ? EndAtOnce() : *end;
}

TEST(ParseOptionsTest, FillsTheDefaultsIn) {
  const ServerOptions options = Parse({});
  EXPECT_EQ(options.store, "/home/ann/.local/state/memplan");
  EXPECT_EQ(options.socket.path, "/run/user/7/memplan/memplan.sock");
  EXPECT_THAT(options.listen, Optional(HostPort{"127.0.0.1", 7070}));
  EXPECT_THAT(options.metrics, Optional(HostPort{"127.0.0.1", 9464}));
  EXPECT_THAT(options.worker, EndsWith("/memplan-worker"));
  EXPECT_EQ(options.worker_library_path, "");
  EXPECT_FALSE(options.exit_with_stdin);
}

TEST(ParseOptionsTest, TakesWhatIsGiven) {
  const ServerOptions options =
      Parse({"--store", "/s", "--socket", "/x", "--listen", "[::1]:0",
             "--metrics", "0.0.0.0:9", "--worker", "/w",
             "--worker-library-path", "/a:/b", "--exit-with-stdin"});
  EXPECT_EQ(options.store, "/s");
  EXPECT_EQ(options.socket.path, "/x");
  EXPECT_THAT(options.listen, Optional(HostPort{"::1", 0}));
  EXPECT_THAT(options.metrics, Optional(HostPort{"0.0.0.0", 9}));
  EXPECT_EQ(options.worker, "/w");
  EXPECT_EQ(options.worker_library_path, "/a:/b");
  EXPECT_TRUE(options.exit_with_stdin);
}

TEST(ParseOptionsTest, RefusesAnEqualsSignWithoutAValue) {
  const EndAtOnce end = End({"--store=", "--check-config"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.error, HasSubstr("--store= has no value"));
}

TEST(ParseOptionsTest, RefusesAYesOrNoThatIsNeither) {
  const EndAtOnce end = End({"--exit-with-stdin=maybe"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.error, HasSubstr("--exit-with-stdin=maybe"));
  EXPECT_FALSE(Parse({"--exit-with-stdin=false"}).exit_with_stdin);
}

TEST(ParseOptionsTest, RefusesOneSocketUnderTwoNames) {
  const EndAtOnce end = End(
      {"--socket", "/run/x/m.sock", "--observer-socket", "/run/x/./m.sock"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.error, HasSubstr("they need two paths"));
}

TEST(ParseOptionsTest, TheLastOfTwoCounts) {
  EXPECT_EQ(Parse({"--store", "/a", "--store", "/b"}).store, "/b");
}

TEST(ParseOptionsTest, NoneSwitchesAnAddressOff) {
  const ServerOptions options =
      Parse({"--listen", "none", "--metrics", "none"});
  EXPECT_EQ(options.listen, std::nullopt);
  EXPECT_EQ(options.metrics, std::nullopt);
}

TEST(ParseOptionsTest, RefusesToListenBeyondLoopback) {
  const EndAtOnce end = End({"--listen", "0.0.0.0:7070"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.error, HasSubstr("only loopback"));
}

TEST(ParseOptionsTest, RefusesWhatIsNoAddress) {
  EXPECT_THAT(End({"--metrics", "9464"}).error,
              HasSubstr("\"9464\" is no address"));
}

TEST(ParseOptionsTest, RefusesUnknownOptions) {
  const EndAtOnce end = End({"--frobnicate"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.error, HasSubstr("--frobnicate"));
  EXPECT_THAT(end.error, HasSubstr("--help"));
}

TEST(ParseOptionsTest, AsksForPathsThatHaveNoDefault) {
  EXPECT_THAT(End({}, {}).error, HasSubstr("--store"));
  EXPECT_THAT(End({"--store", "/s"}, {}).error, HasSubstr("--socket"));
}

TEST(ParseOptionsTest, NamesTheNearestOption) {
  EXPECT_THAT(End({"--stor", "/s"}).error,
              AllOf(HasSubstr("there is no option --stor; did you mean "
                              "--store?"),
                    Not(HasSubstr("/s\n"))));
  EXPECT_THAT(End({"stray"}).error, HasSubstr("no option stray"));
}

TEST(ParseOptionsTest, AFlagOfAYesNoSettingNeedsNoValueButTakesOne) {
  UserEnvironment user = kUser;
  user.variables = {{"MEMPLAN_SERVER_EXIT_WITH_STDIN", "yes"}};
  EXPECT_TRUE(Parse({}, user).exit_with_stdin);
  EXPECT_FALSE(Parse({"--exit-with-stdin=false"}, user).exit_with_stdin);
}

class ConfigFileTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_.Path(name)) << text;
    return dir_.Path(name);
  }
  testing::TempDir dir_;
};

TEST_F(ConfigFileTest, IsTheOneNamedByFlagThenVariableThenTheDefault) {
  UserEnvironment user = kUser;
  user.config_file = Write("default.toml", "expected_gpus = 1");
  EXPECT_EQ(Parse({}, user).expected_gpus, 1);
  user.variables = {
      {"MEMPLAN_SERVER_CONFIG", Write("variable.toml", "expected_gpus = 2")}};
  EXPECT_EQ(Parse({}, user).expected_gpus, 2);
  const std::string flag = Write("flag.toml", "expected_gpus = 3");
  EXPECT_EQ(Parse({"--config", flag}, user).expected_gpus, 3);
  EXPECT_EQ(Parse({"--config", "none"}, user).expected_gpus, 0);
}

TEST_F(ConfigFileTest, IsCheckedWithoutAStart) {
  const std::string good = Write("good.toml", "store = '/s'");
  const EndAtOnce fine = End({"--config", good, "--check-config"});
  EXPECT_EQ(fine.exit_code, 0);
  EXPECT_THAT(fine.output, EndsWith("configuration is fine\n"));
  const std::string bad = Write("bad.toml", "store = '/s'\nstoer = '/t'");
  const EndAtOnce wrong = End({"--config", bad, "--check-config"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.error, HasSubstr(bad + ":2: there is no setting stoer; did "
                                           "you mean store?"));
}

TEST_F(ConfigFileTest, IsPrintedAsOneThatGivesTheSame) {
  const EndAtOnce first = End({"--store", "/s", "--listen", "none",
                               "--drain-grace", "90s", "--print-config"});
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_THAT(first.output, HasSubstr("drain_grace = \"1m30s\"  # "
                                      "--drain-grace\n"));
  const std::string file = Write("printed.toml", first.output);
  const ServerOptions options = Parse({"--config", file});
  EXPECT_EQ(options.store, "/s");
  EXPECT_EQ(options.listen, std::nullopt);
  EXPECT_EQ(options.drain_grace, std::chrono::seconds(90));
}

TEST(ParseOptionsTest, TellsItsVersion) {
  const EndAtOnce end = End({"--version"});
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.output, HasSubstr("memplan-server "));
}

TEST(ParseOptionsTest, ShowsTheDefaultsInItsHelp) {
  const EndAtOnce end = End({"--help"});
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.output, HasSubstr("127.0.0.1:7070"));
  EXPECT_THAT(end.output, HasSubstr("/home/ann/.local/state/memplan"));
}

TEST(DefaultPathsTest, RootsOwnLieInTheSystemsFolders) {
  const UserEnvironment root = {.is_root = true,
                                .home = "/root",
                                .state_folder = "",
                                .runtime_folder = "/run/user/0"};
  EXPECT_EQ(DefaultStore(root), "/var/lib/memplan");
  EXPECT_EQ(DefaultSocket(root), "/run/memplan/memplan.sock");
}

TEST(DefaultPathsTest, AStateFolderComesFirst) {
  UserEnvironment user = kUser;
  user.state_folder = "/state";
  EXPECT_EQ(DefaultStore(user), "/state/memplan");
}

TEST(ParseHostPortTest, ReadsNamesAndBothKindsOfAddress) {
  EXPECT_EQ(*ParseHostPort("localhost:1"), (HostPort{"localhost", 1}));
  EXPECT_EQ(*ParseHostPort("[::1]:65535"), (HostPort{"::1", 65535}));
  EXPECT_EQ(FormatHostPort({"::1", 5}), "[::1]:5");
  EXPECT_EQ(FormatHostPort({"127.0.0.1", 5}), "127.0.0.1:5");
}

TEST(ParseHostPortTest, RefusesAnythingElse) {
  for (const char* text : {"", ":1", "host", "host:", "host:x", "host:65536",
                           "host:-1", "::1:5", "[]:5", "[host]:5"}) {
    EXPECT_FALSE(ParseHostPort(text).ok()) << text;
  }
}

TEST(IsLoopbackTest, KnowsThisMachineFromOthers) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host :
       {"0.0.0.0", "10.0.0.1", "::", "example", "128.0.0.1"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace memplan
