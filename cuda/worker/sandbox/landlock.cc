#include "cuda/worker/sandbox/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cuda/worker/sandbox/landlock_abi.h"
#include "planner/base/status_macros.h"

namespace memplan::gpu {
namespace {

uint64_t RightsOf(FileAccess access) {
  using namespace landlock;  // NOLINT(google-build-using-namespace): its words
  switch (access) {
    case FileAccess::kRead:
      return kReadFile | kReadFolder;
    case FileAccess::kUse:
      return kReadFile | kReadFolder | kWriteFile | kTruncate | kDeviceControl;
    case FileAccess::kOwn:
      return kReadFile | kReadFolder | kWriteFile | kTruncate | kRemoveFile |
             kRemoveFolder | kMakeFolder | kMakeFile | kMakeSocket | kMakeFifo |
             kMakeLink | kMoveBetweenFolders;
  }
  return 0;
}

absl::Status Refused(const std::string& what) {
  return absl::InternalError(absl::StrCat(
      "Landlock refuses ", what, ": ", std::generic_category().message(errno)));
}

absl::Status Allow(int ruleset, const FileRule& rule, int abi) {
  const int place = open(rule.path.c_str(), O_PATH | O_CLOEXEC);
  if (place < 0) return absl::OkStatus();
  struct stat status {};
  landlock::PathBeneath beneath;
  beneath.parent = place;
  beneath.allowed = RightsOf(rule.access) & landlock::FileAccessKnown(abi);
  if (fstat(place, &status) == 0 && !S_ISDIR(status.st_mode)) {
    beneath.allowed &= landlock::kOnFiles;
  }
  const long added = syscall(landlock::kAddRule, ruleset,
                             landlock::kRulePathBeneath, &beneath, 0);
  const absl::Status result =
      added == 0 ? absl::OkStatus()
                 : Refused(absl::StrCat("a rule for ", rule.path));
  // A process's folder in /proc is one inode only as long as somebody holds it.
  if (!rule.path.starts_with("/proc/")) close(place);
  return result;
}

}  // namespace

absl::StatusOr<int> LandlockAbi() {
  const long abi =
      syscall(landlock::kCreateRuleset, nullptr, 0, landlock::kAskForVersion);
  if (abi > 0) return static_cast<int>(abi);
  return absl::UnavailableError(
      errno == EOPNOTSUPP
          ? "the kernel has Landlock, but it is turned off; add landlock to "
            "the boot parameter lsm="
          : absl::StrCat("the kernel has no Landlock (",
                         std::generic_category().message(errno),
                         "); Linux 5.13 or later has it"));
}

absl::Status RestrictFiles(const std::vector<FileRule>& rules, int abi) {
  landlock::RulesetAttributes attributes;
  attributes.handled_files = landlock::FileAccessKnown(abi);
  if (abi >= 4) attributes.handled_network = landlock::kNetworkTcp;
  if (abi >= 6) attributes.scoped = landlock::kScopeAll;
  const int ruleset = static_cast<int>(
      syscall(landlock::kCreateRuleset, &attributes, sizeof(attributes), 0));
  if (ruleset < 0) return Refused("a set of rules");
  absl::Status status;
  for (const FileRule& rule : rules) {
    status.Update(Allow(ruleset, rule, abi));
  }
  if (status.ok() && syscall(landlock::kRestrictSelf, ruleset, 0) != 0) {
    status = Refused("to shut this process in");
  }
  close(ruleset);
  return status;
}

}  // namespace memplan::gpu
