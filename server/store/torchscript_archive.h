// Tells a TorchScript archive from any other file by the directory of its zip,
// without torch. The file comes from a stranger: every number in it is checked
// before it is used, and no more than kMaxDirectoryBytes of it are read.
#ifndef MEMPLAN_SERVER_STORE_TORCHSCRIPT_ARCHIVE_H_
#define MEMPLAN_SERVER_STORE_TORCHSCRIPT_ARCHIVE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace memplan {

// The longest zip directory that is read: some 150,000 entries.
inline constexpr uint64_t kMaxDirectoryBytes = uint64_t{16} << 20;

// OK if the file looks like what torch.jit.save writes: a zip whose directory
// has `<name>/data.pkl` and `<name>/constants.pkl` (torch.load tells the two
// kinds apart by the latter). kInvalidArgument (NOT_A_TORCHSCRIPT_FILE), with
// what was found instead and how to save a model right, if it does not;
// kInternal if it cannot be read.
absl::Status CheckTorchScriptArchive(int descriptor);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_TORCHSCRIPT_ARCHIVE_H_
