#include "cuda/worker/messages/messages.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cuda/messages/changed_message.h"
#include "tests/cuda/messages/sample_messages.h"
#include "tests/support/status_matchers.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(EncodeTest, IsUndoneByDecodingForEveryMessage) {
  for (const WorkerMessage& message : SampleWorkerMessages()) {
    EXPECT_THAT(DecodeWorkerMessage(Encode(message)), IsOkAndHolds(message))
        << Encode(message);
  }
  for (const DaemonMessage& message : SampleDaemonMessages()) {
    EXPECT_THAT(DecodeDaemonMessage(Encode(message)), IsOkAndHolds(message))
        << Encode(message);
  }
}

// What travels is fixed: a change needs a new kProtocolVersion.
TEST(EncodeTest, WritesHello) {
  EXPECT_EQ(json::parse(Encode(SampleHello())), json::parse(R"({
    "type": "hello", "protocol_version": 1, "pid": 4711,
    "torch_version": "2.11.0"})"));
}

TEST(EncodeTest, WritesProgress) {
  EXPECT_EQ(json::parse(Encode(SampleProgress())), json::parse(R"({
    "type": "progress", "phase": "step", "steps_done": 2})"));
}

TEST(EncodeTest, WritesSettledWithoutWhatIsUnset) {
  EXPECT_EQ(json::parse(Encode(SampleSettled())), json::parse(R"({
    "type": "settled", "reserved": 100, "device_free": 200,
    "device_total": 300})"));
  EXPECT_EQ(json::parse(Encode(Settled{})), json::parse(R"({
    "type": "settled", "reserved": 0})"));
}

TEST(EncodeTest, WritesProceed) {
  EXPECT_EQ(Encode(Proceed{}), R"({"type":"proceed"})");
}

TEST(EncodeTest, WritesARequest) {
  EXPECT_EQ(json::parse(Encode(SampleRequest())), json::parse(R"({
    "type": "run", "model_path": "/var/lib/memplan/models/ab\"cd",
    "device": "cuda", "inputs": ["int64[B,T]{0..30000}", "float32[2*B,3]"],
    "dimensions": {"T": 256, "S": 2147483648}, "batch": 37, "mode": "train",
    "optimizer": "sgd-momentum", "run_as": "eager", "steps": 100,
    "options": {
      "autocast": "fp16", "cudnn_benchmark": true,
      "cudnn_deterministic": true, "also_batches": [5, 7],
      "accumulation_steps": 3, "zero_grad": "zero", "evaluation_batch": 64,
      "loss_output": 1, "targets": ["int64[B]{0..10}"]},
    "loss_path": "/var/lib/memplan/models/ef",
    "cap": 2147483648,
    "sandbox": {"required": true, "scratch_path": "/s/1"}, "stay": true})"));
}

// A plain step needs no words, and an older worker none of ours.
TEST(EncodeTest, LeavesOutOptionsThatSayNothing) {
  const json plain = json::parse(Encode(TrialRequest{}));
  EXPECT_FALSE(plain.contains("options"));
  EXPECT_FALSE(plain.contains("loss_path"));
}

TEST(EncodeTest, WritesAPreparationAsTheRunItPrepares) {
  json prepare = json::parse(Encode(Prepare{SampleRequest()}));
  EXPECT_EQ(prepare["type"], "prepare");
  EXPECT_EQ(prepare["preparation"], "program");
  prepare.erase("preparation");
  prepare["type"] = "run";
  EXPECT_EQ(prepare, json::parse(Encode(SampleRequest())));
}

TEST(EncodeTest, WritesAReport) {
  EXPECT_EQ(json::parse(Encode(SampleReport())), json::parse(R"({
    "type": "report", "end": "out-of-memory", "end_class": "fragmentation",
    "field": "inputs",
    "message": "tried to allocate 20 MiB — but\nfailed \"there\"",
    "failed_while_loading": true,
    "load_peaks": {"requested": 11, "allocated": 12, "active": 13,
                   "reserved": 14},
    "load_allocation_retries": 1, "load_failed_requests": 2,
    "steps": [
      {"peaks": {"requested": 21, "allocated": 22, "active": 23,
                 "reserved": 24},
       "seconds": 0.25, "allocation_retries": 3, "failed_requests": 4},
      {"peaks": {"requested": 0, "allocated": 0, "active": 0},
       "seconds": 0.0, "allocation_retries": 0, "failed_requests": 0},
      {"peaks": {"requested": 0, "allocated": 0, "active": 0},
       "seconds": 0.0, "allocation_retries": 0, "failed_requests": 0,
       "kind": "evaluation", "batch": 64}],
    "traced_batch": 8, "cap": 17179869184,
    "memory_speed": {"slowest": 0.0, "peak": 4.8e12,
                     "absence": "no kernels"}})"));
}

TEST(EncodeTest, TrimsAReportsMessage) {
  Report report;
  report.message = std::string(5000, 'x') + "\x1b\xff";
  const auto decoded = DecodeWorkerMessage(Encode(report));
  ASSERT_THAT(decoded, IsOk());
  EXPECT_THAT(std::get<Report>(*decoded).message, SizeIs(1024));
}

TEST(EncodeTest, NeverThrowsOverBytesThatAreNoText) {
  TrialRequest request = SampleRequest();
  request.model_path = "/models/\xff\xc3";
  EXPECT_THAT(Encode(request), HasSubstr("/models/\xef\xbf\xbd"));
}

TEST(NameTest, IsTheWordThatTravels) {
  EXPECT_EQ(ModeName(Mode::kInfer), "infer");
  EXPECT_EQ(ModeName(Mode::kInferGrad), "infer-grad");
  EXPECT_EQ(ModeName(Mode::kTrain), "train");
  EXPECT_EQ(OptimizerName(Optimizer::kNone), "none");
  EXPECT_EQ(OptimizerName(Optimizer::kSgd), "sgd");
  EXPECT_EQ(OptimizerName(Optimizer::kSgdMomentum), "sgd-momentum");
  EXPECT_EQ(OptimizerName(Optimizer::kAdam), "adam");
  EXPECT_EQ(OptimizerName(Optimizer::kAdamW), "adamw");
  EXPECT_EQ(RunAsName(RunAs::kTorchScript), "torchscript");
  EXPECT_EQ(RunAsName(RunAs::kEager), "eager");
}

class ReportFaultTest : public ::testing::TestWithParam<Change> {};

TEST_P(ReportFaultTest, IsNamed) {
  const json report = Changed(json::parse(Encode(SampleReport())), GetParam());
  EXPECT_THAT(DecodeWorkerMessage(report.dump()),
              StatusIs(kInvalid, HasSubstr(GetParam().fault)));
}

INSTANTIATE_TEST_SUITE_P(
    Changes, ReportFaultTest,
    ::testing::ValuesIn<Change>({
        {"NoType", "/type", Removed(), "message.type is missing"},
        {"NumberForType", "/type", 3, "message.type is no text"},
        {"UnknownType", "/type", "rapport", "type \"rapport\" is no message"},
        {"TypeOfTheOtherSide", "/type", "run", "type \"run\" is no message"},
        {"TypeOfAnotherMessage", "/type", "settled", "settled.reserved"},
        {"NoEnd", "/end", Removed(), "report.end is missing"},
        {"UnknownEnd", "/end", "fine", "report.end is no known word"},
        {"NumberForEnd", "/end", 1, "report.end is no text"},
        {"NoEndClass", "/end_class", Removed(), "report.end_class is missing"},
        {"UnknownEndClass", "/end_class", "bad",
         "report.end_class is no known word"},
        {"NoField", "/field", Removed(), "report.field is missing"},
        {"LongField", "/field", std::string(65, 'f'),
         "report.field is longer than 64 bytes"},
        {"LongMessage", "/message", std::string(1025, 'm'),
         "report.message is longer than 1024 bytes"},
        {"ControlCharacters", "/message", "\x1b[31mred",
         "report.message has control characters"},
        {"NumberForBoolean", "/failed_while_loading", 1,
         "report.failed_while_loading is neither true nor false"},
        {"NullPeaks", "/load_peaks", nullptr, "report.load_peaks is no object"},
        {"NegativeSize", "/load_peaks/requested", -1,
         "report.load_peaks.requested is not in 0 to 1152921504606846976"},
        {"SizeAboveTwoToThe60", "/load_peaks/active", (int64_t{1} << 60) + 1,
         "report.load_peaks.active is not in 0"},
        {"SizeAboveInt64", "/load_peaks/active", UINT64_MAX,
         "report.load_peaks.active is not in 0"},
        {"FractionForSize", "/load_peaks/allocated", 1.0,
         "report.load_peaks.allocated is no whole number"},
        {"TextForSize", "/load_peaks/allocated", "1",
         "report.load_peaks.allocated is no whole number"},
        {"NullForOptional", "/load_peaks/reserved", nullptr,
         "report.load_peaks.reserved is no whole number"},
        {"ExtraPeak", "/load_peaks/used", 1,
         "report.load_peaks is no object of at most 4 members"},
        {"NegativeCount", "/load_failed_requests", -2,
         "report.load_failed_requests is not in 0"},
        {"ObjectForSteps", "/steps", json::object(), "report.steps is no list"},
        {"TooManySteps", "/steps", json(111, json::object()),
         "report.steps is no list of at most 110"},
        {"NumberForStep", "/steps/1", 5, "report.steps[1] is no JSON object"},
        {"NegativeSeconds", "/steps/0/seconds", -0.1,
         "report.steps[0].seconds is no time"},
        {"EndlessSeconds", "/steps/0/seconds", 1e300,
         "report.steps[0].seconds is no time"},
        {"TextForSeconds", "/steps/0/seconds", "1",
         "report.steps[0].seconds is no number"},
        {"ExtraMemberOfAStep", "/steps/1/extra", 1,
         "report.steps[1].extra is no member"},
        {"UnknownKindOfStep", "/steps/2/kind", "rest",
         "report.steps[2].kind is no known word"},
        {"NoStepPeaks", "/steps/1/peaks", Removed(),
         "report.steps[1].peaks is missing"},
        {"TracedBatchOfZero", "/traced_batch", 0,
         "report.traced_batch is not in 1 to 2147483648"},
        {"NegativeSpeed", "/memory_speed/slowest", -1.0,
         "report.memory_speed.slowest is no number in its range"},
        {"NoPeakSpeed", "/memory_speed/peak", Removed(),
         "report.memory_speed.peak is missing"},
        {"ExtraMember", "/extra", 1, "report.extra is no member"},
    }),
    [](const auto& test) { return test.param.name; });

class RequestFaultTest : public ::testing::TestWithParam<Change> {};

TEST_P(RequestFaultTest, IsNamed) {
  const json request =
      Changed(json::parse(Encode(SampleRequest())), GetParam());
  EXPECT_THAT(DecodeDaemonMessage(request.dump()),
              StatusIs(kInvalid, HasSubstr(GetParam().fault)));
}

INSTANTIATE_TEST_SUITE_P(
    Changes, RequestFaultTest,
    ::testing::ValuesIn<Change>({
        {"TypeOfTheOtherSide", "/type", "report", "is no message"},
        {"LongPath", "/model_path", std::string(4097, 'p'),
         "run.model_path is longer than 4096 bytes"},
        {"UnknownDevice", "/device", "tpu", "run.device is no known word"},
        {"BadInput", "/inputs/0", "float31[B]",
         "run.inputs column 1: expected a type"},
        {"NumberForInput", "/inputs/0", 1, "run.inputs has an item"},
        {"TooManyInputs", "/inputs", json(65, "bool[B]"),
         "run.inputs is no list of at most 64"},
        {"ZeroDimension", "/dimensions/T", 0,
         "run.dimensions.T is not in 1 to 2147483648"},
        {"ZeroBatch", "/batch", 0, "run.batch is not in 1 to 2147483648"},
        {"HugeBatch", "/batch", 2147483649, "run.batch is not in 1"},
        {"UnknownMode", "/mode", "guess", "run.mode is no known word"},
        {"UnknownOptimizer", "/optimizer", "lion",
         "run.optimizer is no known word"},
        {"UnknownRunAs", "/run_as", "python", "run.run_as is no known word"},
        {"UnknownAutocast", "/options/autocast", "int8",
         "run.options.autocast is no known word"},
        {"NoAccumulation", "/options/accumulation_steps", 0,
         "run.options.accumulation_steps is not in 1 to 1024"},
        {"TextForAnotherBatch", "/options/also_batches/0", "5",
         "run.options.also_batches has an item that is no batch"},
        {"TooManyOtherBatches", "/options/also_batches", json(9, 1),
         "run.options.also_batches is no list of at most 8"},
        {"BadTarget", "/options/targets/0", "int65[B]",
         "run.options.targets column 1: expected a type"},
        {"ExtraOption", "/options/extra", 1, "run.options"},
        {"NoSteps", "/steps", 0, "run.steps is not in 1 to 100"},
        {"TooManySteps", "/steps", 101, "run.steps is not in 1 to 100"},
        {"NegativeCap", "/cap", -1, "run.cap is not in 0"},
        {"NoStay", "/stay", Removed(), "run.stay is missing"},
        {"ExtraMember", "/extra", 1, "run.extra is no member"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(DecodeHelloTest, RefusesNumbersOutOfRange) {
  Hello hello = SampleHello();
  hello.pid = 0;
  EXPECT_THAT(DecodeWorkerMessage(Encode(hello)),
              StatusIs(kInvalid, HasSubstr("hello.pid is not in 1")));
  hello = SampleHello();
  hello.protocol_version = -1;
  EXPECT_THAT(DecodeWorkerMessage(Encode(hello)),
              StatusIs(kInvalid, HasSubstr("hello.protocol_version")));
}

TEST(DecodeProgressTest, RefusesMoreStepsThanATrialHas) {
  EXPECT_THAT(
      DecodeWorkerMessage(Encode(Progress{.phase = "step", .steps_done = 111})),
      StatusIs(kInvalid, HasSubstr("progress.steps_done")));
}

struct Garbage {
  std::string name;
  std::string text;
};
class GarbageTest : public ::testing::TestWithParam<Garbage> {};

TEST_P(GarbageTest, IsNoMessage) {
  EXPECT_THAT(DecodeWorkerMessage(GetParam().text), StatusIs(kInvalid));
  EXPECT_THAT(DecodeDaemonMessage(GetParam().text), StatusIs(kInvalid));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, GarbageTest,
    ::testing::ValuesIn<Garbage>({
        {"Nothing", ""},
        {"Space", " "},
        {"Letter", "x"},
        {"Zeros", std::string(4, '\0')},
        {"OpenObject", "{"},
        {"EmptyObject", "{}"},
        {"EmptyList", "[]"},
        {"Null", "null"},
        {"Number", "1"},
        {"HugeNumber", "1e999999"},
        {"Word", R"("proceed")"},
        {"MessageInAList", R"([{"type":"proceed"}])"},
        {"NullType", R"({"type":null})"},
        {"LongType", R"({"type":")" + std::string(100, 't') + R"("})"},
        {"TwoMessages", R"({"type":"proceed"} {})"},
        {"CutMessage", R"({"type":"proceed")"},
        {"SingleQuotes", "{'type':'proceed'}"},
        {"NoUtf8", "{\"type\":\"proceed\xff\"}"},
        {"HugeNumberInAMessage", R"({"type":"hello","pid":1e400})"},
        {"DeepLists", std::string(100'000, '[')},
        {"DeepClosedLists",
         std::string(100'000, '[') + std::string(100'000, ']')},
        {"DeepObjects", std::string(50'000, '{')},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan::gpu
