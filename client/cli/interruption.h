// Ctrl-C and its kin (SIGINT, SIGTERM, SIGHUP) as a stop token, so that a verb
// can cancel what it started before it ends.
#ifndef MEMPLAN_CLIENT_CLI_INTERRUPTION_H_
#define MEMPLAN_CLIENT_CLI_INTERRUPTION_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <stop_token>

#include "client/cli/signal_listener.h"

namespace memplan {

// Make it before any other thread: the constructor blocks the signals in this
// thread, and threads started later inherit that. The destructor puts the old
// mask back. Thread-safe. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption() = default;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Asks for a stop at the first signal.
  std::stop_token token() const { return stop_.get_token(); }

  // The first signal; 0 if none has come.
  int signal() const { return signal_; }

  // What to do at a second signal before the process ends at once, with 128 plus
  // the signal's number; empty for nothing more. Runs on a thread of its own.
  void BeforeEndingAtOnce(std::function<void()> clean_up);

 private:
  void Take(int signal);

  std::stop_source stop_;
  std::atomic<int> signal_ = 0;
  std::mutex mutex_;
  std::function<void()> clean_up_;
  SignalListener listener_;  // last: uses all of the above
};

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_INTERRUPTION_H_
