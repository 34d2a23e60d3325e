#include "client/cli/interruption.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

namespace memplan {

Interruption::Interruption()
    : listener_({SIGINT, SIGTERM, SIGHUP},
                [this](const signalfd_siginfo& info) {
                  Take(static_cast<int>(info.ssi_signo));
                }) {}

void Interruption::BeforeEndingAtOnce(std::function<void()> clean_up) {
  const std::lock_guard lock(mutex_);
  clean_up_ = std::move(clean_up);
}

void Interruption::Take(int signal) {
  if (signal_ == 0) {
    signal_ = signal;
    stop_.request_stop();
    return;
  }
  const std::lock_guard lock(mutex_);
  if (clean_up_) clean_up_();
  _exit(128 + signal);
}

}  // namespace memplan
