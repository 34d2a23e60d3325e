#include "cuda/nvml/nvml_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace memplan::gpu {
namespace {

using testing::HasSubstr;

class NvmlLibraryTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("FAKE_NVML_SITUATION"); }

  static absl::Status OpenIn(const char* situation) {
    setenv("FAKE_NVML_SITUATION", situation, 1);
    return NvmlLibrary::Open(MEMPLAN_FAKE_NVML).status();
  }
};

TEST_F(NvmlLibraryTest, IsNotFoundWithoutALibrary) {
  const absl::Status status =
      NvmlLibrary::Open("libnothing-of-this-name.so.1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("libnothing-of-this-name.so.1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("cpu device"));
}

TEST_F(NvmlLibraryTest, IsNotFoundWithoutALoadedDriver) {
  const absl::Status status = OpenIn("driver_not_loaded");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Driver Not Loaded"));
}

TEST_F(NvmlLibraryTest, GivesTheDriversWordsWhenItWillNotInitialise) {
  const absl::Status status = OpenIn("init_fails");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "nvmlInit_v2: Unknown Error (NVML return 999)");
}

TEST_F(NvmlLibraryTest, NamesTheSymbolThatALibraryLacks) {
  const absl::Status status = NvmlLibrary::Open("libm.so.6").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nvmlInit_v2"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("510"));
}

TEST_F(NvmlLibraryTest, OpensAgainAfterItWasClosed) {
  EXPECT_TRUE(OpenIn("").ok());
  EXPECT_TRUE(OpenIn("").ok());
}

}  // namespace
}  // namespace memplan::gpu
