// Shuts this process in, layer by layer, before it opens a model:
//
//   no new privileges ─▶ limits ─▶ Landlock ─▶ seccomp ─▶ tried, told
//
// A layer that the kernel lacks is told and the next one applied. To be called
// while the process has one thread: Landlock holds the calling one and those it
// starts.
#ifndef MEMPLAN_CUDA_WORKER_SANDBOX_SANDBOX_H_
#define MEMPLAN_CUDA_WORKER_SANDBOX_SANDBOX_H_

#include <set>
#include <string>
#include <vector>

#include "cuda/worker/messages/sandbox_layer.h"
#include "cuda/worker/sandbox/file_rules.h"

namespace memplan::gpu {

// Groups of system calls (system_call_filter.h), `proc` for all of /proc and
// `landlock` for all files, that a person allows on the worker's command line to
// find out what a driver minds.
using Allowances = std::set<std::string>;

// The state of every layer from now on, in the order above. A layer is in force
// only if what it keeps out was tried and refused.
std::vector<SandboxLayer> EnterSandbox(SandboxSubject subject,
                                       const Allowances& allowances);

// The subject for `request`, with this process's libraries and GPU.
SandboxSubject SubjectOf(const TrialRequest& request);

// True if a model may meet a refusal of the sandbox.
bool Refuses(const std::vector<SandboxLayer>& layers);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_SANDBOX_SANDBOX_H_
