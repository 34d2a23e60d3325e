#include "server/program/end_signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace memplan {
namespace {

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Reads and drops what came; true once there is no more to come.
bool StdinHasEnded() {
  std::array<char, 4096> dropped;
  const ssize_t count = read(STDIN_FILENO, dropped.data(), dropped.size());
  return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
}

}  // namespace

EndSignals::EndSignals() {
  const sigset_t signals = EndingSignals();
  (void)pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  (void)signal(SIGPIPE, SIG_IGN);
  signals_ = Descriptor(signalfd(-1, &signals, SFD_CLOEXEC));
}

std::string EndSignals::Wait(bool with_stdin) {
  std::array<pollfd, 2> wait = {
      {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
       {.fd = with_stdin ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}}};
  std::string came;
  while (came.empty()) {
    if (poll(wait.data(), wait.size(), -1) < 0) continue;
    signalfd_siginfo signal = {};
    if (wait[0].revents != 0 &&
        read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
      came = signal.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM";
    } else if (wait[1].revents != 0 && StdinHasEnded()) {
      came = "the end of standard input";
    }
  }
  const sigset_t signals = EndingSignals();
  (void)pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return came;
}

}  // namespace memplan
