#include "server/program/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace memplan {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
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
  EXPECT_EQ(options.socket, "/run/user/7/memplan/memplan.sock");
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
  EXPECT_EQ(options.socket, "/x");
  EXPECT_THAT(options.listen, Optional(HostPort{"::1", 0}));
  EXPECT_THAT(options.metrics, Optional(HostPort{"0.0.0.0", 9}));
  EXPECT_EQ(options.worker, "/w");
  EXPECT_EQ(options.worker_library_path, "/a:/b");
  EXPECT_TRUE(options.exit_with_stdin);
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
