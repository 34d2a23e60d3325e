#include "server/devices/host_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/devices/process_name.h"

namespace memplan {
namespace {

// A private root with the files of /proc and /sys that a test writes.
class HostMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "memplan-host-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    root_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void WriteMeminfo() {
    Write("/proc/meminfo",
          "MemTotal:       8192 kB\nMemFree:         100 kB\n"
          "MemAvailable:   4096 kB\n");
  }

  std::string root_;
};

TEST_F(HostMemoryTest, IsTheMachinesWithoutAGroup) {
  WriteMeminfo();
  const auto memory = ReadHostMemory(root_);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->total, MiB(8));
  EXPECT_EQ(memory->available, MiB(4));
}

TEST_F(HostMemoryTest, IsUnavailableWithoutMeminfo) {
  EXPECT_EQ(ReadHostMemory(root_).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(HostMemoryTest, TakesALowerLimitOfAVersion2Group) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "2097152\n");
  Write("/sys/fs/cgroup/a/b/memory.current", "1572864\n");
  Write("/sys/fs/cgroup/a/b/memory.stat", "anon 5\ninactive_file 524288\n");
  const auto memory = ReadHostMemory(root_);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->total, MiB(2));
  // 2 MiB less the 1.5 MiB in use, of which 0.5 MiB can be reclaimed.
  EXPECT_EQ(memory->available, MiB(1));
}

TEST_F(HostMemoryTest, TakesTheLimitOfAParentGroup) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("/sys/fs/cgroup/a/memory.max", "3145728\n");
  const auto memory = ReadHostMemory(root_);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->total, MiB(3));
  EXPECT_EQ(memory->available, MiB(3));
}

TEST_F(HostMemoryTest, TakesAVersion1LimitFromTheMountInAContainer) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "4:cpu,cpuacct:/x\n3:memory:/docker/abc\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "2097152\n");
  const auto memory = ReadHostMemory(root_);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->total, MiB(1));
  EXPECT_EQ(memory->available, Bytes(0));
}

TEST_F(HostMemoryTest, IgnoresALimitAboveTheMachine) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "3:memory:/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const auto memory = ReadHostMemory(root_);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->total, MiB(8));
  EXPECT_EQ(memory->available, MiB(4));
}

TEST_F(HostMemoryTest, ReadsAProcesssName) {
  Write("/proc/42/comm", "python3\n");
  EXPECT_EQ(ProcessName(42, root_), "python3");
  EXPECT_EQ(ProcessName(43, root_), "");
}

TEST_F(HostMemoryTest, KnowsTheHostsPidNamespace) {
  std::filesystem::create_directories(root_ + "/proc/self/ns");
  const std::string link = root_ + "/proc/self/ns/pid";
  std::filesystem::create_symlink("pid:[4026531836]", link);
  EXPECT_TRUE(SeesHostProcesses(root_));
  std::filesystem::remove(link);
  std::filesystem::create_symlink("pid:[4026532198]", link);
  EXPECT_FALSE(SeesHostProcesses(root_));
}

}  // namespace
}  // namespace memplan
