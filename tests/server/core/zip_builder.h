// Makes small zip files byte by byte, right or with something wrong in them.
#ifndef MEMPLAN_TESTS_SERVER_CORE_ZIP_BUILDER_H_
#define MEMPLAN_TESTS_SERVER_CORE_ZIP_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memplan::testing {

// A zip of empty files. What is unset gets its right value.
struct ZipBuilder {
  std::vector<std::string> names;
  bool zip64 = false;  // adds a zip64 end record and its locator
  std::string comment{};
  std::optional<uint64_t> entries{};
  std::optional<uint64_t> directory_size{};
  std::optional<uint64_t> directory_offset{};
  std::optional<uint64_t> zip64_record_offset{};

  std::string Build() const {
    std::string zip;
    std::string directory;
    for (const std::string& name : names) {
      const uint64_t at = zip.size();
      zip += "PK\x03\x04" + Number(0, 22) + Number(name.size(), 2) +
             Number(0, 2) + name;
      directory += "PK\x01\x02" + Number(0, 24) + Number(name.size(), 2) +
                   Number(0, 2) + Number(0, 2) + Number(0, 8) + Number(at, 4) +
                   name;
    }
    const uint64_t count = entries.value_or(names.size());
    const uint64_t size = directory_size.value_or(directory.size());
    const uint64_t offset = directory_offset.value_or(zip.size());
    zip += directory;
    if (zip64) {
      const uint64_t record_at = zip64_record_offset.value_or(zip.size());
      zip += "PK\x06\x06" + Number(44, 8) + Number(0, 12) + Number(count, 8) +
             Number(count, 8) + Number(size, 8) + Number(offset, 8);
      zip += "PK\x06\x07" + Number(0, 4) + Number(record_at, 8) + Number(1, 4);
      return zip + "PK\x05\x06" + Number(0, 4) + Number(0xffff, 2) +
             Number(0xffff, 2) + Number(0xffffffff, 4) + Number(0xffffffff, 4) +
             Number(comment.size(), 2) + comment;
    }
    return zip + "PK\x05\x06" + Number(0, 4) + Number(count, 2) +
           Number(count, 2) + Number(size, 4) + Number(offset, 4) +
           Number(comment.size(), 2) + comment;
  }

  // `value` in `bytes` bytes, lowest first.
  static std::string Number(uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) {
      text += static_cast<char>(i < 8 ? value >> (8 * i) & 0xff : 0);
    }
    return text;
  }
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_ZIP_BUILDER_H_
