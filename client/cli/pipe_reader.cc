#include "client/cli/pipe_reader.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace memplan {
namespace {

constexpr size_t kTailBytes = 4096;

}  // namespace

PipeReader::PipeReader(int descriptor, std::string awaited)
    : descriptor_(descriptor),
      wake_(eventfd(0, EFD_CLOEXEC)),
      awaited_(std::move(awaited)),
      thread_([this] { Read(); }) {}

PipeReader::~PipeReader() {
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
  close(descriptor_);
}

PipeReader::LineWait PipeReader::WaitForLine(
    std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return seen_ || ended_; });
  if (seen_) return LineWait::kSeen;
  return ended_ ? LineWait::kEnded : LineWait::kTimedOut;
}

void PipeReader::WaitForEnd(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return ended_; });
}

std::string PipeReader::Tail() const {
  const std::lock_guard lock(mutex_);
  return tail_;
}

void PipeReader::Take(std::string_view text) {
  for (const char c : text) {
    if (c != '\n') {
      if (line_.size() < kTailBytes) line_ += c;
      continue;
    }
    if (line_.find(awaited_) != std::string::npos) seen_ = true;
    line_.clear();
  }
  tail_ += text;
  if (tail_.size() > kTailBytes) {
    tail_.erase(0, tail_.size() - kTailBytes);
    if (const size_t line_end = tail_.find('\n');
        line_end != std::string::npos && line_end + 1 < tail_.size()) {
      tail_.erase(0, line_end + 1);
    }
  }
}

void PipeReader::Read() {
  std::array<pollfd, 2> waits = {
      {{.fd = descriptor_, .events = POLLIN, .revents = 0},
       {.fd = wake_, .events = POLLIN, .revents = 0}}};
  std::array<char, 4096> buffer;
  for (;;) {
    poll(waits.data(), waits.size(), -1);
    if ((waits[1].revents & POLLIN) != 0) return;
    if (waits[0].revents == 0) continue;
    const ssize_t length = read(descriptor_, buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    const std::lock_guard lock(mutex_);
    if (length > 0) {
      Take({buffer.data(), static_cast<size_t>(length)});
    } else {
      ended_ = true;
    }
    changed_.notify_all();
    if (ended_) return;
  }
}

}  // namespace memplan
