// A folder of a test's own, gone with the object. Its path is short enough for
// Unix sockets below it.
#ifndef MEMPLAN_TESTS_SUPPORT_TEMP_DIR_H_
#define MEMPLAN_TESTS_SUPPORT_TEMP_DIR_H_

#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace memplan::testing {

// Not thread-safe. Ends the test program if no folder can be made.
class TempDir {
 public:
  TempDir() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "memplan-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      std::perror("mkdtemp");
      std::abort();
    }
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // The path of `name` below the folder.
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_TEMP_DIR_H_
