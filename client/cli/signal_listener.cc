#include "client/cli/signal_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace memplan {

SignalListener::SignalListener(std::initializer_list<int> signals,
                               OnSignal on_signal)
    : on_signal_(std::move(on_signal)) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, &old_mask_);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { Listen(); });
}

SignalListener::~SignalListener() {
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
  close(signals_);
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

void SignalListener::Listen() const {
  std::array<pollfd, 2> waits = {
      {{.fd = signals_, .events = POLLIN, .revents = 0},
       {.fd = wake_, .events = POLLIN, .revents = 0}}};
  for (;;) {
    poll(waits.data(), waits.size(), -1);
    if ((waits[1].revents & POLLIN) != 0) return;
    signalfd_siginfo info;
    if ((waits[0].revents & POLLIN) != 0 &&
        read(signals_, &info, sizeof(info)) == sizeof(info)) {
      on_signal_(info);
    }
  }
}

}  // namespace memplan
