#include "client/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>

#include "client/cli/console.h"
#include "client/cli/device_argument.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct SpanCase {
  std::string name;
  std::string text;
  std::chrono::milliseconds span;
};
class ParseTimeSpanTest : public ::testing::TestWithParam<SpanCase> {};

TEST_P(ParseTimeSpanTest, Reads) {
  EXPECT_THAT(ParseTimeSpan(GetParam().text), IsOkAndHolds(GetParam().span));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ParseTimeSpanTest,
    ::testing::ValuesIn<SpanCase>({
        {"Seconds", "90s", std::chrono::seconds(90)},
        {"Minutes", "10m", std::chrono::minutes(10)},
        {"Mixed", "1h30m", std::chrono::minutes(90)},
        {"Milliseconds", "250ms", std::chrono::milliseconds(250)},
        {"BareNumberIsSeconds", "2.5", std::chrono::milliseconds(2500)},
    }),
    [](const auto& test) { return test.param.name; });

class BadTimeSpanTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BadTimeSpanTest, IsRefusedWithItsText) {
  EXPECT_THAT(ParseTimeSpan(GetParam()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"" + GetParam() + "\"")));
}

INSTANTIATE_TEST_SUITE_P(Texts, BadTimeSpanTest,
                         ::testing::Values("", "soon", "0", "-5s", "0.1ms",
                                           "inf", "nan", "9000h", "10 m x"));

TEST(ParseNamedDimensionTest, ReadsNameAndValue) {
  EXPECT_THAT(ParseNamedDimension("T=256"), IsOkAndHolds(Pair("T", 256)));
  // Whether a value makes sense is the daemon's to say.
  EXPECT_THAT(ParseNamedDimension("seq_len2=-1"),
              IsOkAndHolds(Pair("seq_len2", -1)));
}

class BadDimensionTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BadDimensionTest, IsRefusedWithItsText) {
  EXPECT_THAT(ParseNamedDimension(GetParam()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"" + GetParam() + "\"")));
}

INSTANTIATE_TEST_SUITE_P(Texts, BadDimensionTest,
                         ::testing::Values("", "T", "T=", "=256", "2T=1", "T=x",
                                           "T=1.5", "T-U=1",
                                           "T=99999999999999999999"));

TEST(SplitInputSpecsTest, SplitsOutsideBracketsOnly) {
  EXPECT_THAT(SplitInputSpecs("float32[B,3]"), ElementsAre("float32[B,3]"));
  EXPECT_THAT(
      SplitInputSpecs("int64[B,T]{0..9}; bool[B,1] ones , float32[2,B]"),
      ElementsAre("int64[B,T]{0..9}", "bool[B,1] ones", "float32[2,B]"));
}

TEST(SplitInputSpecsTest, LeavesWhatIsNoSpecForTheDaemonToJudge) {
  EXPECT_THAT(SplitInputSpecs("float32[B,3"), ElementsAre("float32[B,3"));
  EXPECT_THAT(SplitInputSpecs("float32[B],"), ElementsAre("float32[B]", ""));
}

class ChooseDeviceTest : public ::testing::Test {
 protected:
  void AddDevice(const std::string& id, v1::DeviceKind kind) {
    v1::Device& device = *devices_.add_devices();
    device.set_id(id);
    device.set_kind(kind);
    device.set_display_name("NVIDIA H200");
  }

  std::string Chosen(const std::string& wanted) {
    const auto device = ChooseDevice(devices_, wanted, console_);
    return device.ok() ? device->id() : std::string(device.status().message());
  }

  v1::ListDevicesResponse devices_;
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{out_, err_, {}};
};

TEST_F(ChooseDeviceTest, TakesTheFirstGpuAndSaysSo) {
  AddDevice("GPU-a1", v1::DEVICE_KIND_CUDA);
  AddDevice("GPU-b1", v1::DEVICE_KIND_CUDA);
  AddDevice("cpu", v1::DEVICE_KIND_CPU);
  EXPECT_EQ(Chosen(""), "GPU-a1");
  EXPECT_EQ(err_.str(),
            "memplan: device GPU-a1 (NVIDIA H200), the first GPU\n");
}

TEST_F(ChooseDeviceTest, TakesTheCpuWithoutAGpuAndSaysWhy) {
  AddDevice("cpu", v1::DEVICE_KIND_CPU);
  devices_.set_gpu_absence_reason("no NVIDIA driver");
  EXPECT_EQ(Chosen(""), "cpu");
  EXPECT_EQ(err_.str(),
            "memplan: device cpu: no GPU here (no NVIDIA driver)\n");
}

TEST_F(ChooseDeviceTest, UnderstandsWordsIdsAndTheirBeginnings) {
  AddDevice("GPU-a1", v1::DEVICE_KIND_CUDA);
  AddDevice("GPU-b1", v1::DEVICE_KIND_CUDA);
  AddDevice("cpu", v1::DEVICE_KIND_CPU);
  EXPECT_EQ(Chosen("gpu"), "GPU-a1");
  EXPECT_EQ(Chosen("cpu"), "cpu");
  EXPECT_EQ(Chosen("GPU-b1"), "GPU-b1");
  EXPECT_EQ(Chosen("GPU-b"), "GPU-b1");
}

TEST_F(ChooseDeviceTest, NamesWhatThereIsIfNoneOrSeveralMatch) {
  AddDevice("GPU-a1", v1::DEVICE_KIND_CUDA);
  AddDevice("GPU-b1", v1::DEVICE_KIND_CUDA);
  EXPECT_THAT(Chosen("GPU-"), HasSubstr("it has GPU-a1, GPU-b1"));
  EXPECT_THAT(Chosen("GPU-c"), HasSubstr("it has GPU-a1, GPU-b1"));
}

TEST_F(ChooseDeviceTest, TellsThatThereIsNoGpu) {
  AddDevice("cpu", v1::DEVICE_KIND_CPU);
  EXPECT_THAT(Chosen("gpu"), HasSubstr("--device cpu"));
}

}  // namespace
}  // namespace memplan
