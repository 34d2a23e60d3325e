// Reads a child's output on a thread of its own, so that the child never waits
// for room in the pipe: keeps the last of it and can wait for a line.
#ifndef MEMPLAN_CLIENT_CLI_PIPE_READER_H_
#define MEMPLAN_CLIENT_CLI_PIPE_READER_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace memplan {

// Thread-safe.
class PipeReader {
 public:
  enum class LineWait { kSeen, kEnded, kTimedOut };

  // Owns `descriptor`, the reading end of a pipe. Looks for a line that
  // contains `awaited`.
  PipeReader(int descriptor, std::string awaited);
  // Stops reading, whether the pipe has ended or not.
  ~PipeReader();
  PipeReader(const PipeReader&) = delete;
  PipeReader& operator=(const PipeReader&) = delete;

  // Waits for the awaited line, the pipe's end, or `patience`.
  LineWait WaitForLine(std::chrono::milliseconds patience);

  // Waits for the pipe's end, at most `patience`.
  void WaitForEnd(std::chrono::milliseconds patience);

  // The last that was read, at most 4 kB, from a line's beginning if one is left.
  std::string Tail() const;

 private:
  void Read();
  void Take(std::string_view text);  // needs mutex_

  const int descriptor_;
  const int wake_;  // an eventfd that ends the thread
  const std::string awaited_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string line_;  // the line being read
  std::string tail_;
  bool seen_ = false;
  bool ended_ = false;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_PIPE_READER_H_
