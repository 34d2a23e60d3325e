#include "server/convert/spec_from_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "server/convert/probe_to_proto.h"
#include "tests/server/api/reason_matchers.h"

namespace memplan {
namespace {

using memplan::testing::FailsWith;
using memplan::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using Change = std::function<void(v1::ProbeSpec&)>;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

v1::ProbeSpec SmallestSearch() {
  v1::ProbeSpec spec;
  spec.set_model_sha256(std::string(64, 'a'));
  spec.set_device_id("cpu");
  spec.add_inputs("float32[B,3,8,8]");
  spec.set_mode(v1::MODE_INFER);
  spec.set_run_as(v1::RUN_AS_TORCHSCRIPT);
  spec.set_cap_bytes(1 << 20);
  spec.mutable_search();
  return spec;
}

absl::StatusOr<ProbeSpec> Convert(const Change& change) {
  v1::ProbeSpec proto = SmallestSearch();
  change(proto);
  return SpecFromProto(proto);
}

TEST(SpecFromProtoTest, FillsTheDefaultsIn) {
  const auto spec = Convert([](v1::ProbeSpec&) {});
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->steps, 4);
  EXPECT_EQ(spec->trial_timeout, std::chrono::minutes(10));
  const auto& task = std::get<SearchOptions>(spec->task);
  EXPECT_EQ(task.first_batch, 8);
  EXPECT_EQ(task.max_batch, 65536);
  EXPECT_EQ(task.repeat, 1);
}

TEST(SpecFromProtoTest, KeepsEverythingThatIsGiven) {
  const auto spec = Convert([](v1::ProbeSpec& s) {
    s.set_device_id("GPU-1");
    s.add_inputs("int64[B,T]{0..9}");
    (*s.mutable_dimensions())["T"] = 256;
    s.set_mode(v1::MODE_TRAIN);
    s.set_optimizer(v1::OPTIMIZER_ADAMW);
    s.set_run_as(v1::RUN_AS_EAGER);
    s.set_steps(7);
    s.set_budget_bytes(123);
    s.mutable_profile()->add_batches(2147483648);
    s.mutable_profile()->add_batches(1);
    s.mutable_trial_timeout()->set_nanos(1500001);
    s.mutable_time_limit()->set_seconds(7200);
    s.set_max_trials(9);
    s.set_niceness(19);
    s.set_only_when_idle(true);
  });
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->model_sha256, std::string(64, 'a'));
  EXPECT_EQ(spec->device_id, "GPU-1");
  ASSERT_EQ(spec->inputs.size(), 2U);
  EXPECT_EQ(spec->inputs[1].dtype, DType::kInt64);
  EXPECT_THAT(spec->dimensions, ElementsAre(std::pair("T", 256)));
  EXPECT_EQ(spec->mode, gpu::Mode::kTrain);
  EXPECT_EQ(spec->optimizer, gpu::Optimizer::kAdamW);
  EXPECT_EQ(spec->run_as, gpu::RunAs::kEager);
  EXPECT_EQ(spec->steps, 7);
  EXPECT_EQ(spec->limit.cap, std::nullopt);
  EXPECT_THAT(spec->limit.budget, Optional(Bytes(123)));
  EXPECT_THAT(std::get<ProfileTask>(spec->task).batches,
              ElementsAre(2147483648, 1));
  EXPECT_EQ(spec->trial_timeout, std::chrono::milliseconds(2));  // rounded up
  EXPECT_THAT(spec->time_limit, Optional(std::chrono::hours(2)));
  EXPECT_EQ(spec->max_trials, 9);
  EXPECT_EQ(spec->niceness, 19);
  EXPECT_TRUE(spec->only_when_idle);
}

TEST(SpecFromProtoTest, StartsAtTheLargestBatchIfThatIsBelowEight) {
  const auto spec =
      Convert([](v1::ProbeSpec& s) { s.mutable_search()->set_max_batch(3); });
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(std::get<SearchOptions>(spec->task).first_batch, 3);
}

TEST(SpecFromProtoTest, NeedsNoLimitOnAGpu) {
  EXPECT_THAT(Convert([](v1::ProbeSpec& s) {
                s.set_device_id("GPU-1");
                s.clear_limit();
              }),
              IsOk());
}

TEST(SpecFromProtoTest, ComesBackFromProtoAsItWas) {
  const auto spec = Convert([](v1::ProbeSpec& s) {
    s.add_inputs("int64[B,T]{0..9}");
    (*s.mutable_dimensions())["T"] = 256;
    s.set_mode(v1::MODE_TRAIN);
    s.set_optimizer(v1::OPTIMIZER_SGD_MOMENTUM);
    s.mutable_trial_timeout()->set_seconds(61);
    s.mutable_time_limit()->set_seconds(62);
    s.set_max_trials(63);
    s.set_niceness(4);
  });
  ASSERT_THAT(spec, IsOk());
  const v1::ProbeSpec once = ToProto(*spec);
  const auto again = SpecFromProto(once);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->inputs, spec->inputs);
  EXPECT_EQ(ToProto(*again).SerializeAsString(), once.SerializeAsString());
}

struct Refusal {
  std::string name;
  Change change;
  std::string field;
  std::string reason = "INVALID_PROBE_SPEC";
};

class SpecRefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(SpecRefusalTest, NamesTheField) {
  const auto spec = Convert(GetParam().change);
  EXPECT_THAT(spec, FailsWith(kInvalid, GetParam().reason, GetParam().field));
  EXPECT_FALSE(spec.status().message().empty());
}

std::string Name(const ::testing::TestParamInfo<Refusal>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Names, SpecRefusalTest,
    ::testing::ValuesIn<Refusal>(
        {{"ShaTooShort", [](auto& s) { s.set_model_sha256("abc"); },
          "spec.model_sha256"},
         {"ShaInCapitals",
          [](auto& s) { s.set_model_sha256(std::string(64, 'A')); },
          "spec.model_sha256"},
         {"NoDevice", [](auto& s) { s.clear_device_id(); }, "spec.device_id"},
         {"EndlessDevice",
          [](auto& s) { s.set_device_id(std::string(129, 'x')); },
          "spec.device_id"}}),
    Name);

INSTANTIATE_TEST_SUITE_P(
    Inputs, SpecRefusalTest,
    ::testing::ValuesIn<Refusal>(
        {{"NoInputs", [](auto& s) { s.clear_inputs(); }, "spec.inputs"},
         {"TooManyInputs",
          [](auto& s) {
            while (s.inputs_size() < 65) s.add_inputs("float32[B]");
          },
          "spec.inputs"},
         {"EndlessInput", [](auto& s) { s.add_inputs(std::string(257, 'x')); },
          "spec.inputs[1]"},
         {"InputThatDoesNotParse",
          [](auto& s) { s.set_inputs(0, "float32[B,,3]"); }, "spec.inputs[0]",
          "INPUT_SPEC_SYNTAX"},
         {"NoBatch", [](auto& s) { s.set_inputs(0, "float32[1,3]"); },
          "spec.inputs"},
         {"MoreElementsThanThereCanBe",
          [](auto& s) { s.set_inputs(0, "float32[B,2147483648,2147483648]"); },
          "spec.inputs[0]"},
         {"DimensionWithoutSize",
          [](auto& s) { s.set_inputs(0, "float32[B,T]"); }, "spec.dimensions"},
         {"DimensionNobodyHas",
          [](auto& s) { (*s.mutable_dimensions())["T"] = 1; },
          "spec.dimensions[\"T\"]"},
         {"DimensionCalledB",
          [](auto& s) { (*s.mutable_dimensions())["B"] = 1; },
          "spec.dimensions[\"B\"]"},
         {"EndlessDimensionName",
          [](auto& s) { (*s.mutable_dimensions())[std::string(33, 'T')] = 1; },
          "spec.dimensions"},
         {"DimensionOfZero",
          [](auto& s) {
            s.set_inputs(0, "float32[B,T]");
            (*s.mutable_dimensions())["T"] = 0;
          },
          "spec.dimensions[\"T\"]"},
         {"DimensionAboveItsRange",
          [](auto& s) {
            s.set_inputs(0, "float32[B,T]");
            (*s.mutable_dimensions())["T"] = 2147483649;
          },
          "spec.dimensions[\"T\"]"}}),
    Name);

INSTANTIATE_TEST_SUITE_P(
    HowToRun, SpecRefusalTest,
    ::testing::ValuesIn<Refusal>(
        {{"NoMode", [](auto& s) { s.clear_mode(); }, "spec.mode"},
         {"UnknownMode", [](auto& s) { s.set_mode(static_cast<v1::Mode>(99)); },
          "spec.mode"},
         {"TrainingWithoutOptimizer",
          [](auto& s) { s.set_mode(v1::MODE_TRAIN); }, "spec.optimizer"},
         {"UnknownOptimizer",
          [](auto& s) {
            s.set_mode(v1::MODE_TRAIN);
            s.set_optimizer(static_cast<v1::Optimizer>(99));
          },
          "spec.optimizer"},
         {"OptimizerWithoutTraining",
          [](auto& s) { s.set_optimizer(v1::OPTIMIZER_ADAM); },
          "spec.optimizer"},
         {"NoRunAs", [](auto& s) { s.clear_run_as(); }, "spec.run_as"},
         {"NegativeSteps", [](auto& s) { s.set_steps(-1); }, "spec.steps"},
         {"TooManySteps", [](auto& s) { s.set_steps(101); }, "spec.steps"},
         {"NoTimeForTheProbe", [](auto& s) { s.mutable_time_limit(); },
          "spec.time_limit"},
         {"NegativeTrials", [](auto& s) { s.set_max_trials(-1); },
          "spec.max_trials"},
         {"TooNice", [](auto& s) { s.set_niceness(20); }, "spec.niceness"},
         {"AnIdleCpu", [](auto& s) { s.set_only_when_idle(true); },
          "spec.only_when_idle"},
         {"NoTimeAtAll", [](auto& s) { s.mutable_trial_timeout(); },
          "spec.trial_timeout"},
         {"NegativeTime",
          [](auto& s) { s.mutable_trial_timeout()->set_seconds(-1); },
          "spec.trial_timeout"},
         {"MoreThanADay",
          [](auto& s) {
            s.mutable_trial_timeout()->set_seconds(86400);
            s.mutable_trial_timeout()->set_nanos(1);
          },
          "spec.trial_timeout"}}),
    Name);

INSTANTIATE_TEST_SUITE_P(
    LimitsAndTasks, SpecRefusalTest,
    ::testing::ValuesIn<Refusal>(
        {{"CpuWithoutLimit", [](auto& s) { s.clear_limit(); },
          "spec.cap_bytes"},
         {"CapOfZero", [](auto& s) { s.set_cap_bytes(0); }, "spec.cap_bytes"},
         {"NegativeCap", [](auto& s) { s.set_cap_bytes(-5); },
          "spec.cap_bytes"},
         {"AbsurdCap", [](auto& s) { s.set_cap_bytes((1LL << 60) + 1); },
          "spec.cap_bytes"},
         {"BudgetOfZero", [](auto& s) { s.set_budget_bytes(0); },
          "spec.budget_bytes"},
         {"NoTask", [](auto& s) { s.clear_task(); }, "spec.task"},
         {"ProfileWithoutBatches", [](auto& s) { s.mutable_profile(); },
          "spec.profile.batches"},
         {"ProfileOfTooManyBatches",
          [](auto& s) {
            while (s.profile().batches_size() < 65) {
              s.mutable_profile()->add_batches(1);
            }
          },
          "spec.profile.batches"},
         {"BatchOfZero",
          [](auto& s) {
            s.mutable_profile()->add_batches(4);
            s.mutable_profile()->add_batches(0);
          },
          "spec.profile.batches[1]"},
         {"NegativeBatch",
          [](auto& s) { s.mutable_profile()->add_batches(-1); },
          "spec.profile.batches[0]"},
         {"BatchAboveItsRange",
          [](auto& s) { s.mutable_profile()->add_batches(2147483649); },
          "spec.profile.batches[0]"},
         {"NegativeFirstBatch",
          [](auto& s) { s.mutable_search()->set_first_batch(-8); },
          "spec.search.first_batch"},
         {"FirstBatchAboveTheLargest",
          [](auto& s) {
            s.mutable_search()->set_first_batch(9);
            s.mutable_search()->set_max_batch(8);
          },
          "spec.search.first_batch"},
         {"LargestBatchAboveItsRange",
          [](auto& s) { s.mutable_search()->set_max_batch(2147483649); },
          "spec.search.max_batch"},
         {"TooManyRepeats", [](auto& s) { s.mutable_search()->set_repeat(11); },
          "spec.search.repeat"},
         {"UnknownMethod",
          [](auto& s) {
            s.mutable_search()->set_method(static_cast<v1::SearchMethod>(9));
          },
          "spec.search.method"},
         {"PredictionOnTheCpu",
          [](auto& s) {
            s.set_device_id("cpu");
            s.mutable_search()->set_method(v1::SEARCH_METHOD_PREDICT);
          },
          "spec.search.method"}}),
    Name);

TEST(SpecFromProtoTest, MarksTheColumnOfAnInputThatDoesNotParse) {
  const auto spec =
      Convert([](v1::ProbeSpec& s) { s.set_inputs(0, "float32[B,,3]"); });
  const std::string message(spec.status().message());
  EXPECT_THAT(message, HasSubstr("column 11"));
  EXPECT_THAT(message, HasSubstr("float32[B,,3]"));
  EXPECT_THAT(message, HasSubstr("^"));
}

class CheckAgainstDevicesTest : public ::testing::Test {
 protected:
  CheckAgainstDevicesTest() {
    snapshot_.devices.resize(2);
    snapshot_.devices[0].id = "GPU-lost";
    snapshot_.devices[0].read_error = "GPU is lost";
    snapshot_.devices[1].id = "cpu";
    snapshot_.devices[1].total = MiB(8);
    spec_.device_id = "cpu";
  }

  DeviceSnapshot snapshot_;
  ProbeSpec spec_;
};

TEST_F(CheckAgainstDevicesTest, TakesACapUpToTheWholeDevice) {
  spec_.limit.cap = MiB(8);
  EXPECT_THAT(CheckAgainstDevices(spec_, snapshot_), IsOk());
}

TEST_F(CheckAgainstDevicesTest, DoesNotKnowADeviceOfADriverThatHangs) {
  spec_.device_id = "GPU-other";
  snapshot_.gpus_known = false;
  EXPECT_THAT(
      CheckAgainstDevices(spec_, snapshot_),
      FailsWith(absl::StatusCode::kUnavailable, "DEVICES_NOT_READ", ""));
}

TEST_F(CheckAgainstDevicesTest, TakesNoNameThatStandsInForTheDrivers) {
  snapshot_.devices[0].id = "GPU-unreadable-0";
  spec_.device_id = "GPU-unreadable-0";
  EXPECT_THAT(
      CheckAgainstDevices(spec_, snapshot_),
      FailsWith(absl::StatusCode::kUnavailable, "DEVICES_NOT_READ", ""));
}

TEST_F(CheckAgainstDevicesTest, RefusesACapAboveTheDevice) {
  spec_.limit.cap = MiB(8) + Bytes(1);
  const absl::Status status = CheckAgainstDevices(spec_, snapshot_);
  EXPECT_THAT(status,
              FailsWith(kInvalid, "CAP_ABOVE_DEVICE", "spec.cap_bytes"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("8.00 MiB"));
}

TEST_F(CheckAgainstDevicesTest, RefusesABudgetAboveTheDevice) {
  spec_.limit.budget = MiB(9);
  EXPECT_THAT(CheckAgainstDevices(spec_, snapshot_),
              FailsWith(kInvalid, "BUDGET_ABOVE_DEVICE", "spec.budget_bytes"));
}

TEST_F(CheckAgainstDevicesTest, DoesNotJudgeAGpuThatCannotBeRead) {
  spec_.device_id = "GPU-lost";
  spec_.limit.cap = GiB(100);
  EXPECT_THAT(CheckAgainstDevices(spec_, snapshot_), IsOk());
}

TEST_F(CheckAgainstDevicesTest, NamesTheDevicesThereAre) {
  spec_.device_id = "GPU-nowhere";
  const absl::Status status = CheckAgainstDevices(spec_, snapshot_);
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kNotFound, "DEVICE_NOT_FOUND",
                                "spec.device_id"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("GPU-lost, cpu"));
}

}  // namespace
}  // namespace memplan
