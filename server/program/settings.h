// The daemon's settings, all of them, each in one row.
#ifndef MEMPLAN_SERVER_PROGRAM_SETTINGS_H_
#define MEMPLAN_SERVER_PROGRAM_SETTINGS_H_

#include <string>
#include <vector>

#include "server/config/setting.h"
#include "server/program/options.h"

namespace memplan {

// Bound to `options`, which must outlive them and whose values are the defaults.
// docs/configuration.md lists them; a test compares.
std::vector<SettingGroup> Settings(ServerOptions& options);

// What is wrong with settings that are right one by one, with what to do; empty
// if they go together.
std::vector<std::string> CheckTogether(const ServerOptions& options);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_SETTINGS_H_
