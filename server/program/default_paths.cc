#include "server/program/default_paths.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "server/config/setting.h"

namespace memplan {
namespace {

constexpr const char* kConfigFolder = "/etc/memplan";
constexpr const char* kConfigName = "/memplan-server.toml";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::vector<std::pair<std::string, std::string>> SettingVariables() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos ||
        !text.starts_with(kVariablePrefix)) {
      continue;
    }
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace

UserEnvironment ThisUser() {
  const bool is_root = geteuid() == 0;
  return {.is_root = is_root,
          .home = Variable("HOME"),
          .state_folder = Variable("XDG_STATE_HOME"),
          .runtime_folder = Variable("XDG_RUNTIME_DIR"),
          .variables = SettingVariables(),
          .config_file = DefaultConfigFile(is_root)};
}

std::string DefaultConfigFile(bool is_root) {
  std::string folder = Variable("CONFIGURATION_DIRECTORY");
  if (folder.empty() && is_root) folder = kConfigFolder;
  const std::string file = folder + kConfigName;
  return !folder.empty() && access(file.c_str(), F_OK) == 0 ? file : "";
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
