// The name of a process that the driver lists. The driver counts processes as
// the host does, so that a daemon in a container, whose /proc shows other
// processes under the same numbers, must not look there.
#ifndef MEMPLAN_SERVER_DEVICES_PROCESS_NAME_H_
#define MEMPLAN_SERVER_DEVICES_PROCESS_NAME_H_

#include <cstdint>
#include <string>

namespace memplan {

// True if /proc below `root` numbers processes as the host does.
bool SeesHostProcesses(const std::string& root = "");

// True if the process has ended or is a zombie, by /proc below `root`.
bool ProcessHasEnded(int64_t pid, const std::string& root = "");

// The executable's name (/proc/PID/comm below `root`), or empty.
std::string ProcessName(int64_t pid, const std::string& root = "");

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_PROCESS_NAME_H_
