// What a worker holds on a GPU outside its allocator: context and libraries.
// The driver's figure for the process less what its allocator has reserved.
// Pure: two readings in, a number and its source out.
//
// The driver numbers processes as the host does. In a container a worker's own
// pid is another one, so that a process which is on the device now, was not
// before the trial, and is the only such one, is taken for the worker. Where
// the driver does not say what that process holds, the growth of the whole
// device since the trial's start stands in, which other processes disturb.
#ifndef MEMPLAN_SERVER_DEVICES_CONTEXT_READING_H_
#define MEMPLAN_SERVER_DEVICES_CONTEXT_READING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "planner/admission/device.h"
#include "planner/base/bytes.h"

namespace memplan {

// The words of Trial.context_source.
inline constexpr std::string_view kContextFromProcess = "nvml_process";
inline constexpr std::string_view kContextFromDevice = "device_difference";

struct ContextReading {
  Bytes context;
  std::string source;
};

struct WorkerOnDevice {
  int64_t pid = 0;  // in our own numbering
  Bytes reserved;   // what its allocator holds at the moment of `now`
};

// What `worker` holds outside its allocator at the moment of `now`; `before` is
// the same device, read just before the worker was started. Unset if neither the
// process nor the device says, or the figures contradict each other (less than
// reserved).
std::optional<ContextReading> ReadContext(const Device& before,
                                          const Device& now,
                                          const WorkerOnDevice& worker);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_CONTEXT_READING_H_
