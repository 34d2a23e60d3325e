#include "server/workers/worker_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace memplan {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(WorkerEnvironmentTest, IsAFewNamedVariables) {
  EXPECT_THAT(WorkerEnvironment({"/bin", "/home/me", "/scratch", "/torch/lib"},
                                "GPU-1"),
              UnorderedElementsAre(
                  "PATH=/bin", "HOME=/home/me", "TMPDIR=/scratch",
                  "LD_LIBRARY_PATH=/torch/lib", "LANG=C.UTF-8",
                  "CUDA_VISIBLE_DEVICES=GPU-1", "CUDA_MODULE_LOADING=LAZY"));
}

TEST(WorkerEnvironmentTest, ShowsNoGpuOnTheCpuDevice) {
  EXPECT_THAT(WorkerEnvironment({}, "cpu"), Contains("CUDA_VISIBLE_DEVICES="));
}

TEST(WorkerEnvironmentTest, NamesNoLibrariesUnlessTold) {
  EXPECT_THAT(WorkerEnvironment({}, "cpu"),
              Not(Contains(StartsWith("LD_LIBRARY_PATH"))));
}

TEST(WorkerEnvironmentTest, TakesNoSettingsOfTheShell) {
  setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  const auto environment =
      WorkerEnvironment(SurroundingsOfThisProcess(""), "cpu");
  unsetenv("PYTORCH_CUDA_ALLOC_CONF");
  unsetenv("OMP_NUM_THREADS");
  EXPECT_THAT(environment, Each(Not(StartsWith("PYTORCH"))));
  EXPECT_THAT(environment, Each(Not(StartsWith("OMP"))));
}

TEST(SurroundingsTest, HaveDefaultsForWhatIsMissing) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  unsetenv("TMPDIR");
  EXPECT_EQ(SurroundingsOfThisProcess("").temporary_folder, "/tmp");
  setenv("TMPDIR", "/scratch", 1);
  EXPECT_EQ(SurroundingsOfThisProcess("").temporary_folder, "/scratch");
  if (before) {
    setenv("TMPDIR", kept.c_str(), 1);
  } else {
    unsetenv("TMPDIR");
  }
}

}  // namespace
}  // namespace memplan
