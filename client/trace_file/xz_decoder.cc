#include "client/trace_file/xz_decoder.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/base/format.h"

namespace memplan {
namespace {

// What the strongest preset of xz needs, and some.
constexpr uint64_t kDecoderMemory = uint64_t{128} << 20;

}  // namespace

bool IsXz(std::string_view bytes) {
  constexpr std::string_view kMagic(
      "\xfd"
      "7zXZ\0",
      6);
  return bytes.starts_with(kMagic);
}

XzDecoder::XzDecoder(Bytes limit)
    : limit_(static_cast<size_t>(limit.count())),
      start_(lzma_stream_decoder(&stream_, kDecoderMemory, LZMA_CONCATENATED)) {
}

absl::Status XzDecoder::Decode(std::string_view packed, std::string& text) {
  stream_.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream_.avail_in = packed.size();
  return Run(LZMA_RUN, text);
}

absl::Status XzDecoder::Finish(std::string& text) {
  stream_.avail_in = 0;
  if (absl::Status status = Run(LZMA_FINISH, text); !status.ok()) return status;
  if (ended_) return absl::OkStatus();
  return absl::DataLossError("the .xz stream is cut off");
}

absl::Status XzDecoder::Run(lzma_action action, std::string& text) {
  if (start_ != LZMA_OK) {
    return absl::ResourceExhaustedError("no memory to unpack .xz");
  }
  std::array<char, 65536> piece;
  while (!ended_) {
    stream_.next_out = reinterpret_cast<uint8_t*>(piece.data());
    stream_.avail_out = piece.size();
    const lzma_ret result = lzma_code(&stream_, action);
    const size_t size = piece.size() - stream_.avail_out;
    if (size > limit_ - text.size()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("it unpacks to more than ",
                       FormatBytes(Bytes(static_cast<int64_t>(limit_)))));
    }
    text.append(piece.data(), size);
    ended_ = result == LZMA_STREAM_END;
    if (result == LZMA_BUF_ERROR) break;  // wants more
    if (result != LZMA_OK && !ended_) {
      return absl::DataLossError(
          absl::StrCat("the .xz stream is damaged (liblzma's error ",
                       static_cast<int>(result), ")"));
    }
    if (stream_.avail_in == 0 && size == 0 && action == LZMA_RUN) break;
  }
  return absl::OkStatus();
}

}  // namespace memplan
