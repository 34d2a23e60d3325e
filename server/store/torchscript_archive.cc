#include "server/store/torchscript_archive.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "server/store/zip_directory.h"

namespace memplan {
namespace {

absl::Status NotTorchScript(std::string_view found) {
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(
          "not a TorchScript archive: ", std::string(found),
          "; make one with torch.jit.trace(model, inputs).save(path) or "
          "torch.jit.script(model).save(path)")),
      "NOT_A_TORCHSCRIPT_FILE");
}

// True if some entry is `file` right under one top folder.
bool HasTopFile(const std::vector<std::string>& names, std::string_view file) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    const size_t slash = name.find('/');
    return slash != std::string_view::npos && name.substr(slash + 1) == file;
  });
}

}  // namespace

absl::Status CheckTorchScriptArchive(int descriptor) {
  const auto names = ReadZipNames(descriptor, kMaxDirectoryBytes);
  if (absl::IsInvalidArgument(names.status())) {
    return NotTorchScript(std::string(names.status().message()));
  }
  if (!names.ok()) return names.status();
  if (!HasTopFile(*names, "data.pkl")) {
    return NotTorchScript("it is a zip file without a `data.pkl`");
  }
  if (!HasTopFile(*names, "constants.pkl")) {
    return NotTorchScript(
        "it is a file of torch.save (a state dict or a pickled module), which "
        "has weights but no code");
  }
  return absl::OkStatus();
}

}  // namespace memplan
