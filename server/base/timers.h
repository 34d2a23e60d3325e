// Calls at given times, on one thread for all of them, so that thousands may wait
// at the price of a map's entry each.
#ifndef MEMPLAN_SERVER_BASE_TIMERS_H_
#define MEMPLAN_SERVER_BASE_TIMERS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace memplan {

// Thread-safe. The calls themselves may set and cancel timers, but must not
// block, throw or destroy the timers.
class Timers {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Names one timer.
  using Id = std::pair<Time, int64_t>;

  Timers();
  // As Stop.
  ~Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  // Calls `call` once, at `time` or soon after; never after Stop.
  Id Set(Time time, std::function<void()> call);
  // The call will not come. One that is running, unless this is it, has ended
  // when this returns. Does nothing if it has been made.
  void Cancel(const Id& id);

  // Drops the timers that are left and waits for the call that is running. Later
  // calls do nothing.
  void Stop();

 private:
  void CallUntilStopped();

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below under mutex_.
  std::map<Id, std::function<void()>> waiting_;  // the next first
  Id running_;
  bool is_running_ = false;
  std::thread::id caller_;
  int64_t last_ = 0;
  bool stopped_ = false;

  std::mutex joining_;  // one Stop at a time
  std::thread thread_;  // last: uses all of the above
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_TIMERS_H_
