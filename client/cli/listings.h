// Tables of what the daemon has: devices, models, probes.
#ifndef MEMPLAN_CLIENT_CLI_LISTINGS_H_
#define MEMPLAN_CLIENT_CLI_LISTINGS_H_

#include <string>

#include "memplan/v1/device_service.pb.h"
#include "memplan/v1/model_service.pb.h"
#include "memplan/v1/probe_service.pb.h"

namespace memplan {

// A row a device, and below it a row for each process on it.
std::string DeviceTable(const v1::ListDevicesResponse& devices);

// A row a process of each device; empty if there is none.
std::string ProcessTable(const v1::ListDevicesResponse& devices);

// A row a model; one that is not whole shows how far its upload has come.
std::string ModelTable(const v1::ListModelsResponse& models);

std::string ProbeTable(const v1::ListProbesResponse& probes);

// The answer of a probe in a few words: `192`, `8 (fixed)`, `none`; empty as
// long as there is none.
std::string AnswerWords(const v1::Probe& probe);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_LISTINGS_H_
