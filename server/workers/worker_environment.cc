#include "server/workers/worker_environment.h"

#include <cstdlib>
#include <utility>

namespace memplan {
namespace {

std::string Variable(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

}  // namespace

WorkerSurroundings SurroundingsOfThisProcess(std::string library_path) {
  return {Variable("PATH", "/usr/local/bin:/usr/bin:/bin"),
          Variable("HOME", "/"), Variable("TMPDIR", "/tmp"),
          std::move(library_path)};
}

std::vector<std::string> WorkerEnvironment(
    const WorkerSurroundings& surroundings, const std::string& device_id) {
  std::vector<std::string> environment = {
      "PATH=" + surroundings.path,
      "HOME=" + surroundings.home,
      "TMPDIR=" + surroundings.temporary_folder,
      "LANG=C.UTF-8",
      "CUDA_VISIBLE_DEVICES=" + (device_id == "cpu" ? "" : device_id),
      // The default since CUDA 12.2; the context is measured under it.
      "CUDA_MODULE_LOADING=LAZY",
  };
  if (!surroundings.library_path.empty()) {
    environment.push_back("LD_LIBRARY_PATH=" + surroundings.library_path);
  }
  return environment;
}

}  // namespace memplan
