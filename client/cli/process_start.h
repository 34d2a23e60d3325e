// When a process started, by which it is told from a later one of its number.
#ifndef MEMPLAN_CLIENT_CLI_PROCESS_START_H_
#define MEMPLAN_CLIENT_CLI_PROCESS_START_H_

#include <cstdint>

namespace memplan {

// In clock ticks since the host's boot (field 22 of /proc/PID/stat); 0 if it
// cannot be read.
int64_t StartTicksOf(int64_t pid);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_PROCESS_START_H_
