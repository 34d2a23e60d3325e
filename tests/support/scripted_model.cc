#include "tests/support/scripted_model.h"

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memplan::testing {
namespace {

// `value` in `size` bytes, lowest first, as zip files have it.
std::string Number(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
  return bytes;
}

uint32_t Crc(std::string_view content) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(content.data()),
            static_cast<uInt>(content.size())));
}

// A zip archive of stored entries (PKWARE's APPNOTE, sections 4.3.7 to 4.3.16).
class ZipBuilder {
 public:
  void Add(std::string_view name, std::string_view content) {
    const std::string description =
        Number(20, 2) + Number(0, 2) + Number(0, 2) + Number(0, 4) +
        Number(Crc(content), 4) + Number(content.size(), 4) +
        Number(content.size(), 4) + Number(name.size(), 2) + Number(0, 2);
    directory_ += "PK\x01\x02" + Number(20, 2) + description + Number(0, 2) +
                  Number(0, 2) + Number(0, 2) + Number(0, 4) +
                  Number(entries_.size(), 4);
    directory_ += name;
    entries_ += "PK\x03\x04" + description;
    entries_ += name;
    entries_ += content;
    ++count_;
  }

  std::string Finish() const {
    return entries_ + directory_ + "PK\x05\x06" + Number(0, 2) + Number(0, 2) +
           Number(count_, 2) + Number(count_, 2) +
           Number(directory_.size(), 4) + Number(entries_.size(), 4) +
           Number(0, 2);
  }

 private:
  std::string entries_;
  std::string directory_;
  uint64_t count_ = 0;
};

}  // namespace

std::string ScriptedModel(std::string_view script, size_t weight_bytes) {
  ZipBuilder zip;
  // The smallest pickle there is: protocol 2, None, stop.
  const std::string_view nothing("\x80\x02N.", 4);
  zip.Add("scripted/data.pkl", nothing);
  zip.Add("scripted/constants.pkl", nothing);
  zip.Add("scripted/version", "3\n");
  zip.Add("scripted/script",
          "\n" + std::string(kScriptMarker) + std::string(script) + "\n");
  zip.Add("scripted/data/0", std::string(weight_bytes, 'w'));
  return zip.Finish();
}

}  // namespace memplan::testing
