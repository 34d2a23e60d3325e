// How a daemon does, for people.
#ifndef MEMPLAN_CLIENT_CLI_STATUS_REPORT_H_
#define MEMPLAN_CLIENT_CLI_STATUS_REPORT_H_

#include <string>

#include "memplan/v1/server_service.pb.h"

namespace memplan {

// One line about the daemon, then its parts, its limits and the layers of the
// workers' sandbox as tables.
std::string StatusReport(const v1::ServerStatus& status);

// True if it takes new work and every part is healthy.
bool IsHealthy(const v1::ServerStatus& status);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_STATUS_REPORT_H_
