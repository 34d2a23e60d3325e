// Workers that were started ahead of need: program and libraries are loaded, and
// they wait for their first order. They hold nothing on a device yet. Starting one
// takes most of a second, of which a probe of three runs is to have few.
#ifndef MEMPLAN_SERVER_WORKERS_SPARE_WORKERS_H_
#define MEMPLAN_SERVER_WORKERS_SPARE_WORKERS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/workers/memory_group.h"
#include "server/workers/scratch_folders.h"
#include "server/workers/worker.h"

namespace memplan {

// A worker with what must outlive it.
struct StartedWorker {
  ScratchFolder scratch;
  MemoryGroup group;
  Worker worker;
};

// Thread-safe.
class SpareWorkers {
 public:
  using Start =
      std::function<absl::StatusOr<StartedWorker>(const std::string& device)>;
  // Told before a spare is let go that nobody took: whether it had died by then.
  using OnLost = std::function<void(bool died)>;

  // Keeps `count` spares for each device that was asked for within `patience`;
  // with 0 there are none. `start` and `on_lost` may be called on a thread of
  // its own.
  SpareWorkers(size_t count, std::chrono::milliseconds patience, Start start,
               OnLost on_lost);
  // Kills all that nobody took.
  ~SpareWorkers();
  SpareWorkers(const SpareWorkers&) = delete;
  SpareWorkers& operator=(const SpareWorkers&) = delete;

  // A spare that waits for its order on `device`; nothing if there is none. Others
  // are started in its place, which this does not wait for.
  std::optional<StartedWorker> Take(const std::string& device);

  // Somebody may take one on `device` soon: they are started as if one had been
  // asked for. Returns at once.
  void Expect(const std::string& device);

  // How many wait on `device` now.
  size_t waiting(const std::string& device) const;

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct Spares {
    std::vector<StartedWorker> workers;
    Time last_asked;
    bool cannot_start = false;  // until somebody asks again
  };

  void Work();
  // The device that is to get one more; nothing if all have theirs.
  std::optional<std::string> DeviceInNeed() const;
  // Those that nobody asked for any more.
  std::vector<StartedWorker> TakeForgotten(Time now);
  void StartOneFor(const std::string& device);
  void Lose(std::vector<StartedWorker> workers) const;

  const size_t count_;
  const std::chrono::milliseconds patience_;
  const Start start_;
  const OnLost on_lost_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Spares> spares_;  // by device; under mutex_
  bool is_ending_ = false;                // under mutex_
  std::thread thread_;                    // none with a count of 0
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_SPARE_WORKERS_H_
