// How the daemon does, as values: what GetServerStatus answers with, and what the
// health service is told of each part.
#ifndef MEMPLAN_SERVER_BASE_SERVER_STATUS_H_
#define MEMPLAN_SERVER_BASE_SERVER_STATUS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/base/log.h"

namespace memplan {

enum class ServerState { kServing, kDraining };

struct PartStatus {
  std::string name;
  bool healthy = true;
  std::string detail;  // for people
};

// Something of which only so much is taken at a time: bytes if the name ends in
// `_bytes`, else a count.
struct LimitStatus {
  std::string name;
  int64_t used = 0;
  std::optional<int64_t> most;
};

enum class LayerState { kInForce, kMissing, kOff };

// A layer of the workers' sandbox.
struct SandboxLayer {
  std::string name;
  LayerState state = LayerState::kMissing;
  std::string detail;  // for people
};

struct ServerStatus {
  std::string version;
  ServerState state = ServerState::kServing;
  std::chrono::system_clock::time_point start_time;
  int64_t pid = 0;
  LogLevel log_level = LogLevel::kInfo;
  std::vector<PartStatus> parts;
  std::vector<LimitStatus> limits;
  std::vector<SandboxLayer> sandbox;
  std::string store_path;
  std::string worker_path;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_SERVER_STATUS_H_
