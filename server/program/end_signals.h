// What ends the program: SIGTERM, SIGINT or, for a private daemon, the end of
// standard input. No signal handler: nothing of the daemon could be called in
// one.
#ifndef MEMPLAN_SERVER_PROGRAM_END_SIGNALS_H_
#define MEMPLAN_SERVER_PROGRAM_END_SIGNALS_H_

#include <string>

#include "server/base/descriptor.h"

namespace memplan {

// To be made in main before any other thread, which then inherits that the
// signals are blocked. SIGPIPE is ignored. Used by one thread.
class EndSignals {
 public:
  EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // Waits for a signal or, if `with_stdin`, until standard input ends, and says
  // which came. From then on a signal ends the process at once, so that somebody
  // who does not want to wait for an orderly end can ask again.
  std::string Wait(bool with_stdin);

 private:
  Descriptor signals_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_END_SIGNALS_H_
