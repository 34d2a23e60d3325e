// The few calls on files that the store is made of, with errors that say what
// was done to which path and, where it helps, what to do next.
#ifndef MEMPLAN_SERVER_STORE_FILE_H_
#define MEMPLAN_SERVER_STORE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/descriptor.h"

namespace memplan {

// The status for `error` (an errno) after trying to `what` ("write") the file
// at `path`. ENOSPC, EDQUOT and EFBIG are kResourceExhausted (STORE_FULL).
absl::Status FileError(int error, std::string_view what,
                       const std::string& path);

// Writes all of `bytes` at the descriptor's position; `path` is for the error.
absl::Status WriteAll(int descriptor, std::string_view bytes,
                      const std::string& path);

// Makes what was written to a file, or the names in a folder, survive a loss of
// power.
absl::Status SyncFile(int descriptor, const std::string& path);
absl::Status SyncFolder(const std::string& path);

// The names of what is in the folder at `path`, in no order.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& path);

// What the daemon may still write to the disk of the folder at `path`.
absl::StatusOr<int64_t> DiskFreeBytes(const std::string& path);

// Removes the file or folder at `path` with all that is in it; OK if there is
// none.
absl::Status RemoveAll(const std::string& path);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_FILE_H_
