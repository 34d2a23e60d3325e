#include "server/store/torchscript_archive.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>

#include "server/base/reason.h"
#include "tests/server/core/memory_file.h"
#include "tests/server/core/zip_builder.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::MemoryFile;
using ::memplan::testing::StatusIs;
using ::memplan::testing::ZipBuilder;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status CheckArchive(const std::string& name) {
  const std::string path = std::string(MEMPLAN_ARCHIVES) + "/" + name;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(file.is_open()) << path;
  return CheckTorchScriptArchive(file.get());
}

absl::Status CheckBytes(const std::string& bytes) {
  return CheckTorchScriptArchive(MemoryFile(bytes).get());
}

TEST(CheckTorchScriptArchiveTest, TakesWhatTorchWrites) {
  EXPECT_THAT(CheckArchive("linear_script.pt"), IsOk());
  EXPECT_THAT(CheckArchive("linear_trace.pt"), IsOk());
}

TEST(CheckTorchScriptArchiveTest, RefusesAStateDictAndSaysHowToSave) {
  const absl::Status status = CheckArchive("linear_state_dict.pt");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("state dict"),
                                     HasSubstr("torch.jit.trace(model"))));
  EXPECT_EQ(ReasonOf(status), "NOT_A_TORCHSCRIPT_FILE");
}

TEST(CheckTorchScriptArchiveTest, RefusesWhatIsNoZip) {
  const absl::Status status = CheckBytes(std::string(1000, 'x'));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("does not begin as a zip file does")));
  EXPECT_EQ(ReasonOf(status), "NOT_A_TORCHSCRIPT_FILE");
}

TEST(CheckTorchScriptArchiveTest, RefusesAnotherZip) {
  EXPECT_THAT(CheckBytes(ZipBuilder{.names = {"word/document.xml"}}.Build()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("without a `data.pkl`")));
}

TEST(CheckTorchScriptArchiveTest, WantsTheFilesRightUnderOneFolder) {
  EXPECT_THAT(
      CheckBytes(
          ZipBuilder{.names = {"m/data.pkl", "m/constants.pkl"}}.Build()),
      IsOk());
  EXPECT_THAT(
      CheckBytes(ZipBuilder{.names = {"m/data.pkl", "m/deeper/constants.pkl"}}
                     .Build()),
      StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace memplan
