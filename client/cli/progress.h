// The progress line's text: what happens at this moment, with a bar. Pure.
#ifndef MEMPLAN_CLIENT_CLI_PROGRESS_H_
#define MEMPLAN_CLIENT_CLI_PROGRESS_H_

#include <cstdint>
#include <string>

#include "memplan/v1/probe_service.pb.h"

namespace memplan {

// `[########------------]`, filled by `done` of `total`.
std::string Bar(int64_t done, int64_t total);

// `uploading model.pt [####…] 40.0 MiB of 98.1 MiB`.
std::string UploadLine(const std::string& path, int64_t sent, int64_t total);

// `trial 5, batch 48 [#####…] step 1 of 4, runs at 32, fails at 64`; for a probe
// in the queue how many are before it; empty for one that has ended.
std::string ProbeLine(const v1::Probe& probe);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_PROGRESS_H_
