// The client looks for the daemon where the daemon listens by default.
#include "server/program/default_paths.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/address.h"

namespace memplan {
namespace {

std::string FirstSocketLookedAt(const UserEnvironment& user) {
  return DefaultAddresses(user.is_root, user.runtime_folder)[0].socket_path;
}

TEST(DefaultPathsTest, ClientAndDaemonAgreeForAUser) {
  const UserEnvironment user = {.is_root = false,
                                .home = "/home/u",
                                .state_folder = "",
                                .runtime_folder = "/run/user/1000"};
  EXPECT_EQ(FirstSocketLookedAt(user), DefaultSocket(user));
}

TEST(DefaultPathsTest, ClientAndDaemonAgreeForRoot) {
  const UserEnvironment root = {.is_root = true,
                                .home = "/root",
                                .state_folder = "",
                                .runtime_folder = "/run/user/0"};
  EXPECT_EQ(FirstSocketLookedAt(root), DefaultSocket(root));
}

}  // namespace
}  // namespace memplan
