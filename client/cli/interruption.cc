#include "client/cli/interruption.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace memplan {
namespace {

sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

Interruption::Interruption() {
  const sigset_t watched = WatchedSignals();
  pthread_sigmask(SIG_BLOCK, &watched, &old_mask_);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { Listen(); });
}

Interruption::~Interruption() {
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
  close(signals_);
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

void Interruption::BeforeEndingAtOnce(std::function<void()> clean_up) {
  const std::lock_guard lock(mutex_);
  clean_up_ = std::move(clean_up);
}

void Interruption::Listen() {
  std::array<pollfd, 2> waits = {
      {{.fd = signals_, .events = POLLIN, .revents = 0},
       {.fd = wake_, .events = POLLIN, .revents = 0}}};
  for (;;) {
    poll(waits.data(), waits.size(), -1);
    if ((waits[1].revents & POLLIN) != 0) return;
    signalfd_siginfo info;
    if ((waits[0].revents & POLLIN) == 0 ||
        read(signals_, &info, sizeof(info)) != sizeof(info)) {
      continue;
    }
    if (signal_ == 0) {
      signal_ = static_cast<int>(info.ssi_signo);
      stop_.request_stop();
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (clean_up_) clean_up_();
    _exit(128 + static_cast<int>(info.ssi_signo));
  }
}

}  // namespace memplan
