// What the service manager that started the program, systemd for one, hears of
// it: sd_notify(3). Without a $NOTIFY_SOCKET nobody is told and nothing fails.
#ifndef MEMPLAN_SERVER_PROGRAM_SERVICE_MANAGER_H_
#define MEMPLAN_SERVER_PROGRAM_SERVICE_MANAGER_H_

#include <memory>
#include <string>

#include "server/base/ticker.h"
#include "server/program/daemon.h"

namespace memplan {

// The daemon serves; `words` are shown beside it.
void TellReady(const std::string& words);
// It has begun to end.
void TellStopping();

// Tells that `daemon` is alive, four times in the time after which the manager
// restarts one that is silent, and each time only if Daemon::CheckAlive says so.
// Null if the manager does not want to hear it. To be destroyed before the daemon
// is stopped.
std::unique_ptr<Ticker> StartWatchdog(Daemon& daemon);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_SERVICE_MANAGER_H_
