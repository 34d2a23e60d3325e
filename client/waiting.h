// A pause that its caller can cut short.
#ifndef MEMPLAN_CLIENT_WAITING_H_
#define MEMPLAN_CLIENT_WAITING_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace memplan {

inline void WaitUnlessStopped(std::chrono::milliseconds delay,
                              const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, delay, [] { return false; });
}

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_WAITING_H_
