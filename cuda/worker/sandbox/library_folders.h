// The folders that this process has its libraries from: they load more of their
// kind later (cuDNN's engines, nvrtc), from beside themselves.
#ifndef MEMPLAN_CUDA_WORKER_SANDBOX_LIBRARY_FOLDERS_H_
#define MEMPLAN_CUDA_WORKER_SANDBOX_LIBRARY_FOLDERS_H_

#include <string>
#include <string_view>
#include <vector>

namespace memplan::gpu {

// Folders of the libraries that are loaded, where they really lie, and of
// `library_path` (an LD_LIBRARY_PATH) as they are named and as they really lie;
// each once. Relative names and `/` are left out.
std::vector<std::string> LibraryFolders(std::string_view library_path);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_SANDBOX_LIBRARY_FOLDERS_H_
