#include "client/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseAddressTest, ReadsASocket) {
  const DaemonAddress socket = {.target = "unix:/run/m.sock",
                                .socket_path = "/run/m.sock"};
  EXPECT_THAT(ParseAddress("unix:/run/m.sock"), IsOkAndHolds(socket));
  EXPECT_THAT(ParseAddress("unix:///run/m.sock"), IsOkAndHolds(socket));
  EXPECT_THAT(ParseAddress("/run/m.sock"), IsOkAndHolds(socket));
}

TEST(ParseAddressTest, ReadsHostAndPort) {
  EXPECT_THAT(
      ParseAddress("node7:7070"),
      IsOkAndHolds(DaemonAddress{.target = "node7:7070", .socket_path = {}}));
  EXPECT_THAT(
      ParseAddress("[::1]:7070"),
      IsOkAndHolds(DaemonAddress{.target = "[::1]:7070", .socket_path = {}}));
}

class BadAddressTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BadAddressTest, IsRefusedWithItsText) {
  EXPECT_THAT(ParseAddress(GetParam()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("`" + GetParam() + "`")));
}

INSTANTIATE_TEST_SUITE_P(Texts, BadAddressTest,
                         ::testing::Values("", "node7", ":7070",
                                           "node7:", "node7:0", "node7:65536",
                                           "node7:http", "unix:"));

TEST(ParseAddressTest, RefusesAPathTooLongForASocket) {
  const std::string path = "/" + std::string(107, 'x');
  EXPECT_THAT(ParseAddress("unix:" + path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("108")));
  EXPECT_THAT(ParseAddress("unix:" + path.substr(0, 107)), IsOk());
}

std::vector<std::string> Paths(const std::vector<DaemonAddress>& addresses) {
  std::vector<std::string> paths;
  for (const DaemonAddress& address : addresses) {
    paths.push_back(address.socket_path);
  }
  return paths;
}

TEST(DefaultAddressesTest, TriesTheUsersOwnSocketFirst) {
  EXPECT_THAT(Paths(DefaultAddresses(false, "/run/user/1000")),
              ElementsAre("/run/user/1000/memplan/memplan.sock",
                          "/run/memplan/memplan.sock"));
}

TEST(DefaultAddressesTest, IsTheMachinesSocketForRootOrWithoutARuntimeFolder) {
  EXPECT_THAT(Paths(DefaultAddresses(true, "/run/user/0")),
              ElementsAre("/run/memplan/memplan.sock"));
  EXPECT_THAT(Paths(DefaultAddresses(false, "")),
              ElementsAre("/run/memplan/memplan.sock"));
}

// A bound socket at `path`, listening if asked to.
class BoundSocket {
 public:
  BoundSocket(const std::string& path, bool listening)
      : descriptor_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (descriptor_ < 0) std::abort();
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof(name.sun_path) - 1);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<const sockaddr*>(&name),
                   sizeof(name)),
              0);
    if (listening) {
      EXPECT_EQ(listen(descriptor_, 1), 0);
    }
  }
  ~BoundSocket() { close(descriptor_); }
  BoundSocket(const BoundSocket&) = delete;
  BoundSocket& operator=(const BoundSocket&) = delete;

 private:
  int descriptor_;
};

DaemonAddress AddressOf(const std::string& path) {
  return {.target = "unix:" + path, .socket_path = path};
}

TEST(CheckAnswersTest, IsOkIfSomebodyListens) {
  const TempDir folder;
  const BoundSocket server(folder.Path("m.sock"), true);
  EXPECT_THAT(CheckAnswers(AddressOf(folder.Path("m.sock"))), IsOk());
}

TEST(CheckAnswersTest, IsUnavailableIfNobodyDoes) {
  const TempDir folder;
  EXPECT_THAT(
      CheckAnswers(AddressOf(folder.Path("none.sock"))),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("No such file")));
  const BoundSocket dead(folder.Path("dead.sock"), false);
  EXPECT_THAT(CheckAnswers(AddressOf(folder.Path("dead.sock"))),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("refused")));
}

TEST(CheckAnswersTest, IsPermissionDeniedIfTheSocketIsClosedToTheUser) {
  if (geteuid() == 0) GTEST_SKIP() << "root may connect to any socket";
  const TempDir folder;
  const BoundSocket server(folder.Path("m.sock"), true);
  ASSERT_EQ(chmod(folder.Path("m.sock").c_str(), 0), 0);
  EXPECT_THAT(CheckAnswers(AddressOf(folder.Path("m.sock"))),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST(CheckAnswersTest, LeavesHostsToTheFirstCall) {
  EXPECT_THAT(CheckAnswers({.target = "nowhere:1", .socket_path = {}}), IsOk());
}

}  // namespace
}  // namespace memplan
