#include "server/base/timers.h"

namespace memplan {

Timers::Timers() : thread_([this] { CallUntilStopped(); }) {}

Timers::~Timers() { Stop(); }

Timers::Id Timers::Set(Time time, std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  const Id id(time, ++last_);
  if (stopped_) return id;
  const bool is_next = waiting_.empty() || id < waiting_.begin()->first;
  waiting_.emplace(id, std::move(call));
  if (is_next) changed_.notify_all();
  return id;
}

void Timers::Cancel(const Id& id) {
  std::unique_lock lock(mutex_);
  waiting_.erase(id);
  if (std::this_thread::get_id() == caller_) return;
  changed_.wait(lock, [&] { return !is_running_ || running_ != id; });
}

void Timers::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  const std::lock_guard joining(joining_);
  if (thread_.joinable()) thread_.join();
}

void Timers::CallUntilStopped() {
  std::unique_lock lock(mutex_);
  caller_ = std::this_thread::get_id();
  while (!stopped_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto next = waiting_.begin();
    if (const Time time = next->first.first;
        time > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, time);
      continue;
    }
    running_ = next->first;
    is_running_ = true;
    std::function<void()> call = std::move(next->second);
    waiting_.erase(next);
    lock.unlock();
    call();
    call = nullptr;  // what it holds may cancel as it goes: not under the lock
    lock.lock();
    is_running_ = false;
    changed_.notify_all();
  }
}

}  // namespace memplan
