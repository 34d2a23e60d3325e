// Replays and estimates as tables for people.
#ifndef MEMPLAN_CLIENT_CLI_REPLAY_REPORT_H_
#define MEMPLAN_CLIENT_CLI_REPLAY_REPORT_H_

#include <string>

#include "memplan/v1/plan_service.pb.h"

namespace memplan {

std::string ReplayTable(const v1::ReplayResponse& replay);

std::string EstimateTable(const v1::EstimateResponse& estimate);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_REPLAY_REPORT_H_
