#include "server/program/default_paths.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace memplan {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

UserEnvironment ThisUser() {
  return {.is_root = geteuid() == 0,
          .home = Variable("HOME"),
          .state_folder = Variable("XDG_STATE_HOME"),
          .runtime_folder = Variable("XDG_RUNTIME_DIR")};
}

std::string DefaultStore(const UserEnvironment& user) {
  if (!user.state_folder.empty()) return user.state_folder + "/memplan";
  if (user.is_root) return "/var/lib/memplan";
  if (user.home.empty()) return "";
  return user.home + "/.local/state/memplan";
}

std::string DefaultSocket(const UserEnvironment& user) {
  if (user.is_root) return "/run/memplan/memplan.sock";
  if (user.runtime_folder.empty()) return "";
  return user.runtime_folder + "/memplan/memplan.sock";
}

std::string DefaultWorker() {
  std::error_code error;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path() / "memplan-worker";
}

}  // namespace memplan
