// A file in memory with given bytes, for what reads from descriptors.
#ifndef MEMPLAN_TESTS_SERVER_CORE_MEMORY_FILE_H_
#define MEMPLAN_TESTS_SERVER_CORE_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "server/base/descriptor.h"

namespace memplan::testing {

inline Descriptor MemoryFile(std::string_view bytes) {
  Descriptor file(memfd_create("test", MFD_CLOEXEC));
  if (!file.is_open() || write(file.get(), bytes.data(), bytes.size()) !=
                             static_cast<ssize_t>(bytes.size())) {
    std::perror("memfd");
    std::abort();
  }
  return file;
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_MEMORY_FILE_H_
