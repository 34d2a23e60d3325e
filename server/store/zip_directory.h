// The names in a zip file's central directory (PKWARE's APPNOTE 6.3.9, sections
// 4.3.12 to 4.3.16), zip64 included. Nothing is unpacked. For hostile files:
// every length and offset is checked before it is used.
//
//   entry … entry   central directory   [zip64 end, locator]   end, comment
#ifndef MEMPLAN_SERVER_STORE_ZIP_DIRECTORY_H_
#define MEMPLAN_SERVER_STORE_ZIP_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memplan {

// The names of all entries, in the directory's order. kInvalidArgument, with
// what is wrong, if the file is no whole zip or its directory is longer than
// `max_directory_bytes`; kInternal if it cannot be read.
absl::StatusOr<std::vector<std::string>> ReadZipNames(
    int descriptor, uint64_t max_directory_bytes);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_ZIP_DIRECTORY_H_
