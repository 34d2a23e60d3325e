// A process writes to a store and is killed in the middle, without warning. What
// it was told is kept must be there when the store is opened again, and nothing
// half done.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "server/base/descriptor.h"
#include "tests/server/core/sample_probe.h"
#include "tests/server/core/store_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::OpenedStore;
using ::memplan::testing::SampleProbe;
using ::memplan::testing::SmallArchive;
using ::memplan::testing::TempDir;
using ::memplan::testing::Upload;

// Writes round after round and, after each, one byte to `told`. Never returns.
[[noreturn]] void WriteForEver(const std::string& path, int told) {
  OpenedStore store(path);
  for (int round = 1;; ++round) {
    Probe probe = SampleProbe("counter");
    probe.version = round;
    const bool kept =
        store.probes->Save(probe).ok() &&
        Upload(*store.models, SmallArchive(absl::StrCat("m", round)), "").ok();
    if (!kept || write(told, "+", 1) != 1) _exit(1);
  }
}

// Kills the writer once it has told of `rounds`; returns how many it told of.
int KillAfter(int rounds, const std::string& path) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t writer = fork();
  if (writer == 0) WriteForEver(path, ends[1]);
  Descriptor told(ends[0]);
  close(ends[1]);
  int count = 0;
  char byte = 0;
  while (count < rounds && read(told.get(), &byte, 1) == 1) ++count;
  EXPECT_EQ(kill(writer, SIGKILL), 0);
  int status = 0;
  EXPECT_EQ(waitpid(writer, &status, 0), writer);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
  while (read(told.get(), &byte, 1) == 1) ++count;
  return count;
}

TEST(StoreCrashTest, KeepsWhatWasToldAndNothingHalf) {
  TempDir temp;
  for (const int rounds : {1, 3, 10}) {
    const std::string path = temp.Path(absl::StrCat("store", rounds));
    const int told = KillAfter(rounds, path);
    OpenedStore store(path);
    const auto probes = store.probes->LoadAll();
    ASSERT_THAT(probes, IsOk());
    ASSERT_EQ(probes->size(), 1u);
    EXPECT_GE((*probes)[0].version, told);
    EXPECT_LE((*probes)[0].version, told + 1);
    const auto models = store.models->List();
    EXPECT_GE(static_cast<int>(models.size()), told);
    EXPECT_LE(static_cast<int>(models.size()), told + 1);
    for (const Model& model : models) {
      if (model.state == ModelState::kUploading) continue;
      EXPECT_EQ(std::filesystem::file_size(store.models->Path(model.sha256)),
                static_cast<uintmax_t>(model.size_bytes));
    }
    EXPECT_LE(store.models->Use().parts, 1);
  }
}

}  // namespace
}  // namespace memplan
