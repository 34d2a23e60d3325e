// The system calls that a model has no need of answer an error instead of doing
// anything: seccomp. They are named one by one, with the reason; all others stay
// allowed, since what a driver calls is not ours to know.
#ifndef MEMPLAN_CUDA_WORKER_SANDBOX_SYSTEM_CALL_FILTER_H_
#define MEMPLAN_CUDA_WORKER_SANDBOX_SYSTEM_CALL_FILTER_H_

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace memplan::gpu {

// Calls refused for one reason.
struct RefusedCalls {
  std::string_view group;
  std::string_view reason;
  std::span<const std::string_view> names;
};

// All groups of calls that are refused whatever their arguments. Beside them:
// sockets other than AF_UNIX (`network`), clone for anything but a thread
// (`programs`), signals to other processes and limits or priority of other
// processes (`processes`).
std::span<const RefusedCalls> RefusedGroups();

// From now on, in all threads, refused calls answer EPERM; clone3, whose
// arguments a filter cannot see, answers ENOSYS, so that the C library takes
// clone. Groups named in `allowed` are left out. Sets no_new_privileges.
// kUnavailable, with the kernel's words, if it has no filters; then nothing has
// changed.
absl::Status RefuseSystemCalls(const std::set<std::string>& allowed);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_SANDBOX_SYSTEM_CALL_FILTER_H_
