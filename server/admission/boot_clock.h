// Time since the host's boot, which nobody sets: wall clocks are stepped, and a
// reservation's lifetime must not be.
#ifndef MEMPLAN_SERVER_ADMISSION_BOOT_CLOCK_H_
#define MEMPLAN_SERVER_ADMISSION_BOOT_CLOCK_H_

#include <string>

#include "absl/time/time.h"

namespace memplan {

// Goes on while the host sleeps, and over restarts of the daemon.
absl::Duration SinceBoot();

// Names this boot of the host; empty if the kernel does not say.
std::string BootId();

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_BOOT_CLOCK_H_
