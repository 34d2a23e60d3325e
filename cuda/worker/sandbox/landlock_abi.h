// The kernel's interface of Landlock up to its ABI 7, whatever header the
// build's own kernel has: numbers and layouts from Linux 6.15's
// include/uapi/linux/landlock.h, under names of our own.
#ifndef MEMPLAN_CUDA_WORKER_SANDBOX_LANDLOCK_ABI_H_
#define MEMPLAN_CUDA_WORKER_SANDBOX_LANDLOCK_ABI_H_

#include <cstdint>

namespace memplan::gpu::landlock {

// The same numbers on every architecture.
inline constexpr long kCreateRuleset = 444;
inline constexpr long kAddRule = 445;
inline constexpr long kRestrictSelf = 446;

inline constexpr uint32_t kAskForVersion = 1;
inline constexpr int kRulePathBeneath = 1;

// The kernel takes a shorter structure from older programs; so do older kernels
// with what follows zero.
struct RulesetAttributes {
  uint64_t handled_files = 0;
  uint64_t handled_network = 0;  // since ABI 4
  uint64_t scoped = 0;           // since ABI 6
};

struct [[gnu::packed]] PathBeneath {
  uint64_t allowed = 0;
  int32_t parent = -1;  // a descriptor
};

inline constexpr uint64_t kExecute = 1U << 0;
inline constexpr uint64_t kWriteFile = 1U << 1;
inline constexpr uint64_t kReadFile = 1U << 2;
inline constexpr uint64_t kReadFolder = 1U << 3;
inline constexpr uint64_t kRemoveFolder = 1U << 4;
inline constexpr uint64_t kRemoveFile = 1U << 5;
inline constexpr uint64_t kMakeFolder = 1U << 7;
inline constexpr uint64_t kMakeFile = 1U << 8;
inline constexpr uint64_t kMakeSocket = 1U << 9;
inline constexpr uint64_t kMakeFifo = 1U << 10;
inline constexpr uint64_t kMakeLink = 1U << 12;
inline constexpr uint64_t kMoveBetweenFolders = 1U << 13;  // since ABI 2
inline constexpr uint64_t kTruncate = 1U << 14;            // since ABI 3
inline constexpr uint64_t kDeviceControl = 1U << 15;       // since ABI 5: ioctl

// All that an ABI knows.
constexpr uint64_t FileAccessKnown(int abi) {
  uint64_t known = (1U << 13) - 1;
  if (abi >= 2) known |= kMoveBetweenFolders;
  if (abi >= 3) known |= kTruncate;
  if (abi >= 5) known |= kDeviceControl;
  return known;
}

inline constexpr uint64_t kNetworkTcp = 0b11;  // bind and connect, since ABI 4
inline constexpr uint64_t kScopeAll = 0b11;  // abstract sockets, signals: ABI 6

// What may be allowed on something that is no folder.
inline constexpr uint64_t kOnFiles =
    kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

}  // namespace memplan::gpu::landlock

#endif  // MEMPLAN_CUDA_WORKER_SANDBOX_LANDLOCK_ABI_H_
