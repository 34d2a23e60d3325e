// Signals as calls of a function: blocked for the process, and taken one by one on
// a thread of its own.
#ifndef MEMPLAN_CLIENT_CLI_SIGNAL_LISTENER_H_
#define MEMPLAN_CLIENT_CLI_SIGNAL_LISTENER_H_

#include <signal.h>
#include <sys/signalfd.h>

#include <functional>
#include <initializer_list>
#include <thread>

namespace memplan {

// Make it before any other thread: the constructor blocks the signals in this
// thread, and threads started later inherit that. One at a time.
class SignalListener {
 public:
  using OnSignal = std::function<void(const signalfd_siginfo&)>;

  // `on_signal` is called on the listener's thread.
  SignalListener(std::initializer_list<int> signals, OnSignal on_signal);
  // Ends the thread and puts the old mask back.
  ~SignalListener();
  SignalListener(const SignalListener&) = delete;
  SignalListener& operator=(const SignalListener&) = delete;

  // As it was before.
  const sigset_t& old_mask() const { return old_mask_; }

 private:
  void Listen() const;

  const OnSignal on_signal_;
  sigset_t old_mask_;
  int signals_;         // a signalfd
  int wake_;            // an eventfd that ends the thread
  std::thread thread_;  // last: uses all of the above
};

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_SIGNAL_LISTENER_H_
