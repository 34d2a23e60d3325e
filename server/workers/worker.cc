#include "server/workers/worker.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/messages.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

// The two ends of a channel: the daemon's and the worker's.
absl::StatusOr<std::array<Descriptor, 2>> MakeChannel() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a channel to a worker: ",
                     std::generic_category().message(errno)));
  }
  return std::array<Descriptor, 2>{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

absl::StatusOr<Worker> StartWorker(const std::string& program,
                                   std::vector<std::string> environment,
                                   Bytes trace_bytes) {
  MEMPLAN_ASSIGN_OR_RETURN(TraceMemory trace, TraceMemory::Create(trace_bytes));
  MEMPLAN_ASSIGN_OR_RETURN(WorkerOutput output, WorkerOutput::Create());
  MEMPLAN_ASSIGN_OR_RETURN(auto channel, MakeChannel());
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  static_assert(gpu::kChannelDescriptor == 3 && gpu::kTraceDescriptor == 4);
  MEMPLAN_ASSIGN_OR_RETURN(
      auto process, ChildProcess::Start({program,
                                         std::move(environment),
                                         {nothing.get(), output.descriptor(),
                                          output.descriptor(), channel[1].get(),
                                          trace.descriptor()}}));
  return Worker{std::move(trace), std::move(output), std::move(channel[0]),
                std::move(process)};
}

}  // namespace memplan
