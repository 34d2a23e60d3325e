// Does something at once and then again and again, on a thread of its own.
#ifndef MEMPLAN_SERVER_BASE_TICKER_H_
#define MEMPLAN_SERVER_BASE_TICKER_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace memplan {

class Ticker {
 public:
  // Calls `work`, which must not throw, each `interval` after its last end.
  Ticker(std::chrono::milliseconds interval, std::function<void()> work)
      : thread_(
            [interval, work = std::move(work)](const std::stop_token& stop) {
              std::mutex mutex;
              std::condition_variable_any never;
              std::unique_lock lock(mutex);
              while (!stop.stop_requested()) {
                work();
                never.wait_for(lock, stop, interval, [] { return false; });
              }
            }) {}
  // Waits for the work in progress.
  ~Ticker() = default;
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_TICKER_H_
