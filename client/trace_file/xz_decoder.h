// Unpacks an .xz stream piece by piece, in bounded memory.
#ifndef MEMPLAN_CLIENT_TRACE_FILE_XZ_DECODER_H_
#define MEMPLAN_CLIENT_TRACE_FILE_XZ_DECODER_H_

#include <lzma.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "planner/base/bytes.h"

namespace memplan {

// Whether `bytes` begin as an .xz stream does.
bool IsXz(std::string_view bytes);

// Not thread-safe; neither copied nor moved.
class XzDecoder {
 public:
  // Refuses to unpack more than `limit`.
  explicit XzDecoder(Bytes limit);
  ~XzDecoder() { lzma_end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;

  // Appends what `packed` unpacks to. kDataLoss if it is damaged;
  // kResourceExhausted above the limit.
  absl::Status Decode(std::string_view packed, std::string& text);

  // Says that there is no more. kDataLoss if the stream has not ended.
  absl::Status Finish(std::string& text);

 private:
  absl::Status Run(lzma_action action, std::string& text);

  lzma_stream stream_ = LZMA_STREAM_INIT;
  const size_t limit_;
  const lzma_ret start_;
  bool ended_ = false;
};

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_TRACE_FILE_XZ_DECODER_H_
