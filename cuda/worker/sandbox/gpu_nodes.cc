#include "cuda/worker/sandbox/gpu_nodes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace memplan::gpu {
namespace {

namespace fs = std::filesystem;

// The value in a line `name: value` of `file`, or empty.
std::string ValueIn(const fs::path& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!absl::StartsWith(line, name + ":")) continue;
    line.erase(0, name.size() + 1);
    absl::StripAsciiWhitespace(&line);
    return line;
  }
  return "";
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

std::vector<std::string> AllNodes(const std::string& device_folder) {
  constexpr std::string_view kPrefix = "nvidia";
  std::vector<std::string> nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(device_folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) &&
        IsNumber(std::string_view(name).substr(kPrefix.size()))) {
      nodes.push_back(entry.path().string());
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

std::vector<std::string> GpuNodes(std::string_view gpu,
                                  const std::string& driver_folder,
                                  const std::string& device_folder) {
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(driver_folder + "/gpus", error)) {
    const fs::path about = entry.path() / "information";
    if (gpu.empty() || ValueIn(about, "GPU UUID") != gpu) continue;
    const std::string number = ValueIn(about, "Device Minor");
    if (!IsNumber(number)) continue;
    const std::string node = absl::StrCat(device_folder, "/nvidia", number);
    if (fs::exists(node, error)) return {node};
  }
  return AllNodes(device_folder);
}

}  // namespace memplan::gpu
