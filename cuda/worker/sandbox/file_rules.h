// Which files a worker may reach, and why: one table, made from what the trial
// is about. Everything else on the host is out of its reach. Pure.
#ifndef MEMPLAN_CUDA_WORKER_SANDBOX_FILE_RULES_H_
#define MEMPLAN_CUDA_WORKER_SANDBOX_FILE_RULES_H_

#include <string>
#include <vector>

#include "cuda/worker/messages/messages.h"

namespace memplan::gpu {

enum class FileAccess {
  kRead,  // files and lists of names
  kUse,   // what is there: read, write, control a device
  kOwn,   // anything below but running programs and making devices
};

struct FileRule {
  std::string path;  // a file, or a folder with all that is below it
  FileAccess access = FileAccess::kRead;
  std::string reason;
  friend bool operator==(const FileRule&, const FileRule&) = default;
};

// What a worker is about to run.
struct SandboxSubject {
  std::string model_path;    // empty for none
  std::string loss_path;     // empty for none
  std::string scratch_path;  // empty for none
  DeviceKind device = DeviceKind::kCpu;
  std::vector<std::string> gpu_nodes;  // /dev/nvidia0 …, of its GPU
  std::vector<std::string> library_folders;
  bool whole_proc = false;  // all of /proc is readable, not what is listed
};

// Some may not exist on this machine.
std::vector<FileRule> FileRules(const SandboxSubject& subject);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_SANDBOX_FILE_RULES_H_
