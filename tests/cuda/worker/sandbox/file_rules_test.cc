#include "cuda/worker/sandbox/file_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memplan::gpu {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::Not;
using ::testing::StartsWith;

SandboxSubject Subject(DeviceKind device) {
  SandboxSubject subject;
  subject.model_path = "/store/models/ab";
  subject.scratch_path = "/store/scratch/1";
  subject.device = device;
  subject.gpu_nodes = {"/dev/nvidia3"};
  subject.library_folders = {"/venv/torch/lib"};
  return subject;
}

// The access that a rule for `path` itself gives.
auto Allows(const std::string& path, FileAccess access) {
  return Contains(
      AllOf(Field(&FileRule::path, path), Field(&FileRule::access, access)));
}
auto Names(const std::string& path) {
  return Contains(Field(&FileRule::path, path));
}

TEST(FileRulesTest, GiveTheModelsFileAloneToRead) {
  const auto rules = FileRules(Subject(DeviceKind::kCpu));
  EXPECT_THAT(rules, Allows("/store/models/ab", FileAccess::kRead));
  EXPECT_THAT(rules, Not(Names("/store/models")));
  EXPECT_THAT(rules, Not(Names("/store")));
}

TEST(FileRulesTest, GiveTheLosssFileToReadIfThereIsOne) {
  SandboxSubject subject = Subject(DeviceKind::kCpu);
  EXPECT_THAT(FileRules(subject),
              Not(Allows("/store/models/cd", FileAccess::kRead)));
  subject.loss_path = "/store/models/cd";
  EXPECT_THAT(FileRules(subject),
              Allows("/store/models/cd", FileAccess::kRead));
}

TEST(FileRulesTest, GiveItsOwnFolderToWrite) {
  EXPECT_THAT(FileRules(Subject(DeviceKind::kCpu)),
              Allows("/store/scratch/1", FileAccess::kOwn));
}

TEST(FileRulesTest, GiveTheDriverToATrialOnAGpuAlone) {
  EXPECT_THAT(FileRules(Subject(DeviceKind::kCuda)),
              AllOf(Allows("/dev/nvidia3", FileAccess::kUse),
                    Allows("/dev/nvidiactl", FileAccess::kUse),
                    Allows("/dev/shm", FileAccess::kOwn)));
  const auto on_cpu = FileRules(Subject(DeviceKind::kCpu));
  EXPECT_THAT(on_cpu,
              Each(Field(&FileRule::path, Not(StartsWith("/dev/nvidia")))));
  EXPECT_THAT(on_cpu, Not(Names("/dev/shm")));
}

TEST(FileRulesTest, ShowOfOtherProcessesNothing) {
  SandboxSubject subject = Subject(DeviceKind::kCuda);
  EXPECT_THAT(
      FileRules(subject),
      AllOf(Not(Names("/proc")), Allows("/proc/self", FileAccess::kUse)));
  subject.whole_proc = true;
  EXPECT_THAT(FileRules(subject), Allows("/proc", FileAccess::kRead));
}

TEST(FileRulesTest, HaveAReasonEach) {
  EXPECT_THAT(FileRules(Subject(DeviceKind::kCuda)),
              Each(Field(&FileRule::reason, Not(""))));
}

}  // namespace
}  // namespace memplan::gpu
