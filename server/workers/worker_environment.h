// The environment a worker is started with: a few named variables and nothing
// else of the daemon's, so that no setting of somebody's shell (an allocator's,
// a number of threads) changes what is measured.
#ifndef MEMPLAN_SERVER_WORKERS_WORKER_ENVIRONMENT_H_
#define MEMPLAN_SERVER_WORKERS_WORKER_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace memplan {

// What of it is the same for all workers.
struct WorkerSurroundings {
  std::string path;              // PATH
  std::string home;              // HOME
  std::string temporary_folder;  // TMPDIR
  std::string library_path;      // LD_LIBRARY_PATH; empty for none
};

// From this process's environment, with defaults for what it lacks.
WorkerSurroundings SurroundingsOfThisProcess(std::string library_path);

// As NAME=value, for a worker on `device_id`, which sees that GPU alone, or none
// if it is `cpu`.
std::vector<std::string> WorkerEnvironment(
    const WorkerSurroundings& surroundings, const std::string& device_id);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_WORKER_ENVIRONMENT_H_
