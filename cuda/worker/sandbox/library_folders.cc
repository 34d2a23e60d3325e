#include "cuda/worker/sandbox/library_folders.h"

#include <link.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_split.h"

namespace memplan::gpu {
namespace {

namespace fs = std::filesystem;

void AddFolder(const fs::path& folder, std::set<std::string>& folders) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (!error && real != "/") folders.insert(real.string());
}

int AddLibrary(dl_phdr_info* library, size_t, void* folders) {
  std::error_code error;
  const fs::path path(library->dlpi_name);
  if (!path.is_absolute()) return 0;  // the program itself, the vDSO
  const fs::path real = fs::canonical(path, error);
  if (error) return 0;
  AddFolder(real.parent_path(), *static_cast<std::set<std::string>*>(folders));
  return 0;
}

}  // namespace

std::vector<std::string> LibraryFolders(std::string_view library_path) {
  std::set<std::string> folders;
  dl_iterate_phdr(AddLibrary, &folders);
  for (const auto part : absl::StrSplit(
           absl::string_view(library_path.data(), library_path.size()), ':')) {
    const fs::path folder{std::string(part)};
    if (folder.is_absolute()) AddFolder(folder, folders);
  }
  return {folders.begin(), folders.end()};
}

}  // namespace memplan::gpu
