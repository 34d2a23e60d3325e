#include "server/devices/script_device_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <memory>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string ErrorOf(const std::string& json) {
  return std::string(ParseDeviceScript(json).status().message());
}

TEST(ParseDeviceScriptTest, FillsInWhatFollowsFromTheRest) {
  const auto snapshot = ParseDeviceScript(R"({"devices": [{
      "id": "GPU-a", "name": "H200", "total": "80GiB",
      "driver_reserve": 1073741824, "used": "12GiB",
      "processes": [{"pid": 1, "used": "2GiB"},
                    {"pid": 2, "name": "python", "used": "8GiB"}]}]})");
  ASSERT_THAT(snapshot, IsOk());
  ASSERT_THAT(snapshot->devices, SizeIs(1));
  const Device& gpu = snapshot->devices[0];
  EXPECT_EQ(gpu.id, "GPU-a");
  EXPECT_EQ(gpu.display_name, "H200");
  EXPECT_EQ(gpu.driver_reserve, GiB(1));
  EXPECT_EQ(gpu.free, GiB(67));
  EXPECT_EQ(gpu.unattributed, GiB(2));
  EXPECT_EQ(gpu.processes[0].pid, 2) << "the largest first";
  EXPECT_EQ(snapshot->gpu_absence_reason, "");
}

TEST(ParseDeviceScriptTest, LeavesUnknownWhatIsLeftOut) {
  const auto snapshot = ParseDeviceScript(
      R"({"devices": [{"id": "GPU-a", "read_error": "GPU is lost"}]})");
  ASSERT_THAT(snapshot, IsOk());
  EXPECT_FALSE(snapshot->devices[0].total);
  EXPECT_FALSE(snapshot->devices[0].free);
  EXPECT_EQ(snapshot->devices[0].read_error, "GPU is lost");
}

TEST(ParseDeviceScriptTest, SaysWhereItIsWrong) {
  EXPECT_THAT(ErrorOf("{\"devices\":\n [}"), HasSubstr("line 2, column 3"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("/: an object"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("/devices: "));
  EXPECT_THAT(ErrorOf(R"({"devices": [{"id": "GPU-a", "size": 1}]})"),
              HasSubstr("/devices/0/size: no such member"));
  EXPECT_THAT(ErrorOf(R"({"devices": [{"id": "GPU-a", "total": -1}]})"),
              HasSubstr("/devices/0/total: "));
  EXPECT_THAT(ErrorOf(R"({"devices": [{"id": "GPU-a", "total": "8 apples"}]})"),
              HasSubstr("/devices/0/total: "));
  EXPECT_THAT(ErrorOf(R"({"devices": [{"id": "0"}]})"),
              HasSubstr("/devices/0/id: "));
  EXPECT_THAT(ErrorOf(R"({"devices": [{"id": "cpu"}, {"id": "cpu"}]})"),
              HasSubstr("/devices/1/id: another"));
  EXPECT_THAT(
      ErrorOf(R"({"devices": [{"id": "GPU-a", "processes": [{"pid": "1"}]}]})"),
      HasSubstr("/devices/0/processes/0/pid: "));
  EXPECT_THAT(ErrorOf(R"({"devices": [{"id": "GPU-a", "hangs": 1}]})"),
              HasSubstr("/devices/0/hangs: "));
  EXPECT_THAT(
      ErrorOf(R"({"devices": [{"id": "GPU-a", "total": 5, "used": 6}]})"),
      HasSubstr("/devices/0/total: "));
}

class ScriptDeviceSourceTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) const {
    std::ofstream(path_, std::ios::trunc) << text;
  }
  void Open() {
    auto source = ScriptDeviceSource(path_);
    ASSERT_THAT(source, IsOk());
    source_ = *std::move(source);
  }
  DevicePlace PlaceOf(const std::string& id) {
    for (const DevicePlace& place : source_->List().places) {
      if (place.key == id) return place;
    }
    ADD_FAILURE() << id << " is not listed";
    return {};
  }
  Device Read(const std::string& id) { return source_->Read(PlaceOf(id)); }

  TempDir dir_;
  const std::string path_ = dir_.Path("devices.json");
  std::shared_ptr<DeviceSource> source_;
};

TEST_F(ScriptDeviceSourceTest, ReadsTheFileAnewEachTime) {
  Write(R"({"devices": [{"id": "GPU-a", "total": 100, "used": 1}]})");
  Open();
  EXPECT_EQ(Read("GPU-a").free, Bytes(99));
  EXPECT_GT(Read("cpu").total, Bytes(100)) << "the host's own";
  const DevicePlace place = PlaceOf("GPU-a");
  Write(R"({"devices": [{"id": "GPU-a", "total": 100, "used": 60}]})");
  EXPECT_EQ(source_->Read(place).free, Bytes(40));
  Write(R"({"devices": []})");
  EXPECT_THAT(source_->Read(place).read_error, HasSubstr("no more"));
}

TEST_F(ScriptDeviceSourceTest, LosesItsDevicesWhileTheFileIsWrong) {
  Write(R"({"devices": [{"id": "GPU-a", "total": 100}]})");
  Open();
  Write("{");
  EXPECT_THAT(Read("GPU-a").read_error, HasSubstr(path_));
  Write(R"({"devices": [{"id": "GPU-a", "total": 100}]})");
  EXPECT_EQ(Read("GPU-a").read_error, "");
}

TEST_F(ScriptDeviceSourceTest, OneDeviceHangsWhileOthersAnswer) {
  Write(R"({"devices": [{"id": "GPU-a", "hangs": true}, {"id": "GPU-b"}]})");
  Open();
  auto hanging =
      std::async(std::launch::async, [this] { return Read("GPU-a"); });
  EXPECT_EQ(Read("GPU-b").id, "GPU-b");
  Write(R"({"devices": [{"id": "GPU-a", "total": 7}, {"id": "GPU-b"}]})");
  Read("GPU-b");  // takes the file in
  EXPECT_EQ(hanging.get().total, Bytes(7));
}

TEST_F(ScriptDeviceSourceTest, RefusesAtTheStartWhatItCannotRead) {
  EXPECT_THAT(ScriptDeviceSource(path_).status(),
              StatusIs(absl::StatusCode::kNotFound));
  Write("{\"devices\": 1}");
  const absl::Status wrong = ScriptDeviceSource(path_).status();
  EXPECT_THAT(std::string(wrong.message()), HasSubstr(path_ + ": /devices: "));
  EXPECT_THAT(ScriptDeviceSource(dir_.Path("")).status(),
              ::testing::Not(IsOk()));
}

}  // namespace
}  // namespace memplan
