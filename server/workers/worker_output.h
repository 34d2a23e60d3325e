// What a worker prints, kept in a memory file of fixed size: it costs no thread
// and no more than its bound, and its end tells why a worker died.
#ifndef MEMPLAN_SERVER_WORKERS_WORKER_OUTPUT_H_
#define MEMPLAN_SERVER_WORKERS_WORKER_OUTPUT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/descriptor.h"

namespace memplan {

// What is printed beyond this is lost.
inline constexpr size_t kMaxOutputBytes = size_t{1} << 20;

// Not thread-safe.
class WorkerOutput {
 public:
  // kResourceExhausted.
  static absl::StatusOr<WorkerOutput> Create();

  // The worker's standard output and error.
  int descriptor() const { return file_.get(); }

  // The last `size` bytes at most, from a line's beginning where there is one,
  // without white space at the end.
  std::string Tail(size_t size) const;

 private:
  explicit WorkerOutput(Descriptor file);

  Descriptor file_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_WORKER_OUTPUT_H_
