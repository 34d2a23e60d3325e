#include "server/program/socket_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/base/descriptor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;

// A socket that listens at `path` until the descriptor is closed; the name stays.
Descriptor Listen(const std::string& path) {
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.get() < 0) std::abort();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)),
            0);
  EXPECT_EQ(listen(listener.get(), 1), 0);
  return listener;
}

TEST(ClaimSocketPathTest, MakesTheFoldersForTheUserAlone) {
  const TempDir dir;
  EXPECT_THAT(ClaimSocketPath({.path = dir.Path("a/b/socket")}, "--socket"),
              IsOk());
  struct stat made = {};
  ASSERT_EQ(stat(dir.Path("a/b").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777U, 0700U);
}

TEST(ClaimSocketPathTest, RemovesTheSocketOfADeadDaemon) {
  const TempDir dir;
  Listen(dir.Path("socket")).Close();
  ASSERT_TRUE(std::filesystem::exists(dir.Path("socket")));
  EXPECT_THAT(ClaimSocketPath({.path = dir.Path("socket")}, "--socket"),
              IsOk());
  EXPECT_FALSE(std::filesystem::exists(dir.Path("socket")));
}

TEST(ClaimSocketPathTest, LeavesALivingDaemonItsSocket) {
  const TempDir dir;
  const Descriptor daemon = Listen(dir.Path("socket"));
  EXPECT_THAT(ClaimSocketPath({.path = dir.Path("socket")}, "--socket"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("a daemon answers")));
  EXPECT_TRUE(std::filesystem::exists(dir.Path("socket")));
}

TEST(ClaimSocketPathTest, LeavesWhatIsNoSocketAlone) {
  const TempDir dir;
  std::ofstream(dir.Path("file")) << "precious";
  EXPECT_THAT(
      ClaimSocketPath({.path = dir.Path("file")}, "--socket"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no socket")));
  EXPECT_TRUE(std::filesystem::exists(dir.Path("file")));
}

TEST(ClaimSocketPathTest, RefusesAPathThatIsTooLong) {
  EXPECT_THAT(
      ClaimSocketPath({.path = "/" + std::string(107, 'x')}, "--socket"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("108 bytes")));
}

}  // namespace
}  // namespace memplan::testing
