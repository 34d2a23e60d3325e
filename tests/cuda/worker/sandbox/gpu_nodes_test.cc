#include "cuda/worker/sandbox/gpu_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::TempDir;
using ::testing::ElementsAre;

// The driver's folder and /dev of a host with two GPUs, whose numbers are not in
// the order of their PCI places.
class GpuNodesTest : public ::testing::Test {
 protected:
  GpuNodesTest() {
    AddGpu("0000:1b:00.0", "GPU-aaaa", 1);
    AddGpu("0000:43:00.0", "GPU-bbbb", 0);
    for (const char* name : {"nvidiactl", "nvidia-uvm", "null"}) Touch(name);
  }

  void AddGpu(const std::string& place, const std::string& id, int number) {
    const std::string folder = driver() + "/gpus/" + place;
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/information")
        << "Model: \t\t NVIDIA H200\nIRQ:   \t\t 75\nGPU UUID: \t " << id
        << "\nDevice Minor: \t " << number << "\nGPU Excluded:\t No\n";
    Touch("nvidia" + std::to_string(number));
  }
  void Touch(const std::string& name) {
    std::filesystem::create_directories(devices());
    std::ofstream(devices() + "/" + name) << "";
  }

  std::string driver() const { return folder_.path() + "/driver"; }
  std::string devices() const { return folder_.path() + "/dev"; }

  TempDir folder_;
};

TEST_F(GpuNodesTest, AreThatOfTheGpuAlone) {
  EXPECT_THAT(GpuNodes("GPU-aaaa", driver(), devices()),
              ElementsAre(devices() + "/nvidia1"));
  EXPECT_THAT(GpuNodes("GPU-bbbb", driver(), devices()),
              ElementsAre(devices() + "/nvidia0"));
}

TEST_F(GpuNodesTest, AreAllForAPartOfAGpuOrNoKnownOne) {
  for (const char* gpu : {"MIG-cccc", "GPU-dddd", ""}) {
    EXPECT_THAT(GpuNodes(gpu, driver(), devices()),
                ElementsAre(devices() + "/nvidia0", devices() + "/nvidia1"))
        << gpu;
  }
}

TEST_F(GpuNodesTest, AreNoneWithoutADriver) {
  EXPECT_THAT(GpuNodes("GPU-aaaa", "/nowhere", "/nowhere"), ElementsAre());
}

}  // namespace
}  // namespace memplan::gpu
