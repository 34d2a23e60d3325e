#include "cuda/worker/sandbox/resource_limits.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace memplan::gpu {
namespace {

struct Limit {
  int resource;
  const char* name;
  rlim_t most;
};

constexpr Limit kLimits[] = {
    // A core would hold the model and go where no one looks for it.
    {RLIMIT_CORE, "core dumps", 0},
    // The driver opens some dozens; one for each thread and library is plenty.
    {RLIMIT_NOFILE, "descriptors", 4096},
    // Of one file in the scratch folder, and of what CUDA shares in /dev/shm.
    {RLIMIT_FSIZE, "bytes of a file", rlim_t{1} << 30},
    {RLIMIT_MSGQUEUE, "bytes of message queues", 0},
    {RLIMIT_RTPRIO, "real-time priority", 0},
    {RLIMIT_NICE, "niceness taken back", 0},
};

}  // namespace

absl::StatusOr<std::string> LimitResources() {
  // Writing beyond the limit is then an error, not a death.
  (void)signal(SIGXFSZ, SIG_IGN);
  std::string words;
  for (const Limit& limit : kLimits) {
    rlimit now{};
    const auto resource = static_cast<__rlimit_resource_t>(limit.resource);
    bool set = getrlimit(resource, &now) == 0;
    const rlim_t most = std::min(limit.most, now.rlim_max);
    const rlimit wanted = {std::min(most, now.rlim_cur), most};
    set = set && setrlimit(resource, &wanted) == 0;
    if (!set) {
      return absl::InternalError(absl::StrCat(
          "the limit of ", limit.name,
          " cannot be set: ", std::generic_category().message(errno)));
    }
    absl::StrAppend(&words, words.empty() ? "" : ", ", limit.name, " ",
                    wanted.rlim_cur);
  }
  return words;
}

}  // namespace memplan::gpu
