#include "server/services/plan_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/api/api_server.h"
#include "tests/server/api/rpc_matchers.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;

// One layer at an even batch of 18 or more: a weight of 4 MiB in a segment of
// 20 MiB, and 1 MiB a sample in one of its own.
std::string TraceAt(int64_t batch) {
  const int64_t bytes = batch << 20;
  return absl::StrCat(
      "M\tload\nO\t1\taten::empty\nS\t20971520\t7f0000000000\n"
      "A\t4194304\t7f0000000000\taten::empty\n"
      "M\tstep0\nO\t1\taten::linear\nS\t",
      bytes, "\t7f0010000000\nA\t", bytes,
      "\t7f0010000000\taten::linear\nO\t1\taten::relu_\nD\t7f0010000000\n"
      "M\tend\n");
}

class PlanServiceTest : public ::testing::Test {
 protected:
  grpc::Status Replay(const std::vector<v1::ReplayRequest>& messages) {
    TestContext context;
    auto writer = stub_->Replay(&context, &replay_);
    bool open = true;
    for (const auto& message : messages) open = open && writer->Write(message);
    writer->WritesDone();
    return writer->Finish();
  }
  grpc::Status Estimate(const std::vector<v1::EstimateRequest>& messages) {
    TestContext context;
    auto writer = stub_->Estimate(&context, &estimate_);
    bool open = true;
    for (const auto& message : messages) open = open && writer->Write(message);
    writer->WritesDone();
    return writer->Finish();
  }

  static v1::ReplayRequest Header(v1::AddressOrder order,
                                  const std::string& settings = "") {
    v1::ReplayRequest message;
    message.mutable_header()->set_addresses(order);
    message.mutable_header()->set_settings(settings);
    return message;
  }
  static v1::ReplayRequest Capped(int64_t cap_bytes) {
    v1::ReplayRequest message = Header(v1::ADDRESS_ORDER_DESCENDING);
    message.mutable_header()->set_cap_bytes(cap_bytes);
    return message;
  }
  static v1::ReplayRequest Chunk(std::string text) {
    v1::ReplayRequest message;
    message.set_trace_chunk(std::move(text));
    return message;
  }
  static v1::EstimateRequest Target(int64_t batch) {
    v1::EstimateRequest message;
    message.mutable_header()->set_batch(batch);
    return message;
  }
  static v1::EstimateRequest Batch(int64_t batch) {
    v1::EstimateRequest message;
    message.mutable_trace()->set_batch(batch);
    return message;
  }
  static v1::EstimateRequest Text(int64_t batch) {
    v1::EstimateRequest message;
    message.set_trace_chunk(TraceAt(batch));
    return message;
  }

  ApiServer server_;
  std::unique_ptr<v1::PlanService::Stub> stub_ = server_.plans();
  v1::ReplayResponse replay_;
  v1::EstimateResponse estimate_;
};

TEST_F(PlanServiceTest, ReplaysATraceSentInChunks) {
  const std::string text = TraceAt(24);
  EXPECT_THAT(Replay({Header(v1::ADDRESS_ORDER_RECORDED),
                      Chunk(text.substr(0, 20)), Chunk(text.substr(20))}),
              IsRpcOk());
  EXPECT_EQ(replay_.peak_requested_bytes(), 28 << 20);
  EXPECT_EQ(replay_.peak_allocated_bytes(), 28 << 20);
  EXPECT_EQ(replay_.peak_active_bytes(), 28 << 20);
  EXPECT_EQ(replay_.peak_reserved_bytes(), 44 << 20);
  EXPECT_EQ(replay_.fragmentation_bytes(), 16 << 20);
  EXPECT_EQ(replay_.ends(), "ok");
  EXPECT_FALSE(replay_.has_failed_request());
  EXPECT_EQ(replay_.events(), 11);
  ASSERT_EQ(replay_.phases_size(), 3);
  EXPECT_EQ(replay_.phases(0).name(), "load");
  EXPECT_EQ(replay_.phases(0).peak_reserved_bytes(), 20 << 20);
  EXPECT_EQ(replay_.peak_events().allocated(), 7);
  EXPECT_EQ(replay_.counters().at("allocated_bytes.all.peak"), 28 << 20);
  EXPECT_EQ(replay_.counters().at("segment.all.current"), 2);
}

// 16 MiB of the 20 are free in the weight's segment: too few for 18.
TEST_F(PlanServiceTest, SaysWhichRequestFailsUnderACap) {
  EXPECT_THAT(Replay({Capped(20 << 20), Chunk(TraceAt(18))}), IsRpcOk());
  EXPECT_EQ(replay_.ends(), "oom");
  EXPECT_EQ(replay_.failed_request(), 7);
  EXPECT_EQ(replay_.peak_reserved_bytes(), 20 << 20);
}

TEST_F(PlanServiceTest, RefusesSettingsThatLibtorchRefuses) {
  EXPECT_THAT(Replay({Header(v1::ADDRESS_ORDER_CHUNKS, "max_split:8"),
                      Chunk(TraceAt(18))}),
              IsRpcError(grpc::StatusCode::INVALID_ARGUMENT,
                         "INVALID_ALLOCATOR_SETTINGS", "header.settings"));
}

// With 30 MiB for large segments the weight's is not the one that was recorded.
TEST_F(PlanServiceTest, SaysThatRecordedAddressesDoNotFitOtherSettings) {
  EXPECT_THAT(
      Replay({Header(v1::ADDRESS_ORDER_RECORDED, "large_segment_size_mb:30"),
              Chunk(TraceAt(18))}),
      IsRpcError(grpc::StatusCode::FAILED_PRECONDITION,
                 "RECORDED_ADDRESSES_DO_NOT_FIT", "header.addresses"));
}

TEST_F(PlanServiceTest, NamesTheLineOfATraceThatCannotBeRead) {
  const grpc::Status status =
      Replay({Header(v1::ADDRESS_ORDER_RECORDED), Chunk("M\tload\nD\t7f00\n")});
  EXPECT_THAT(status, IsRpcError(grpc::StatusCode::INVALID_ARGUMENT,
                                 "INVALID_REPLAY", "trace_chunk"));
  EXPECT_THAT(status.error_message(), HasSubstr("line 2"));
}

TEST_F(PlanServiceTest, RefusesMessagesOutOfTurn) {
  const v1::ReplayRequest header = Header(v1::ADDRESS_ORDER_RECORDED);
  const auto refused = [](const char* field) {
    return IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REPLAY",
                      field);
  };
  EXPECT_THAT(Replay({}), refused("header"));
  EXPECT_THAT(Replay({Chunk("M\tload\n")}), refused("trace_chunk"));
  EXPECT_THAT(Replay({header, header}), refused("header"));
  EXPECT_THAT(Replay({header, v1::ReplayRequest()}), refused("part"));
  EXPECT_THAT(Replay({header, Chunk("")}), refused("trace_chunk"));
  EXPECT_THAT(Replay({header, Chunk(std::string((1 << 20) + 1, 'M'))}),
              refused("trace_chunk"));
  EXPECT_THAT(Replay({Capped(-1)}), refused("header.cap_bytes"));
  EXPECT_THAT(
      Replay({Header(static_cast<v1::AddressOrder>(77)), Chunk(TraceAt(18))}),
      refused("header.addresses"));
}

TEST_F(PlanServiceTest, RefusesMoreCallsAtOnceThanItTakes) {
  std::vector<std::unique_ptr<TestContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::ReplayRequest>>> open;
  std::vector<v1::ReplayResponse> responses(4);
  for (v1::ReplayResponse& response : responses) {
    contexts.push_back(std::make_unique<TestContext>());
    open.push_back(stub_->Replay(contexts.back().get(), &response));
    ASSERT_TRUE(open.back()->Write(Header(v1::ADDRESS_ORDER_CHUNKS)));
  }
  // A fifth that overtook one of them would take its place.
  while (server_.places().replays.taken() < 4) std::this_thread::yield();
  EXPECT_THAT(
      Replay({Header(v1::ADDRESS_ORDER_CHUNKS)}),
      IsRpcError(grpc::StatusCode::RESOURCE_EXHAUSTED, "TOO_MANY_REPLAYS", ""));
  for (auto& writer : open) {
    ASSERT_TRUE(writer->Write(Chunk(TraceAt(18))));
    writer->WritesDone();
    EXPECT_THAT(writer->Finish(), IsRpcOk());
  }
}

TEST_F(PlanServiceTest, EstimatesABatchThatWasNotRecorded) {
  EXPECT_THAT(Estimate({Target(40), Batch(18), Text(18), Batch(20), Text(20)}),
              IsRpcOk());
  EXPECT_EQ(estimate_.peak_requested_bytes(), 44 << 20);
  EXPECT_EQ(estimate_.peak_allocated_bytes(), 44 << 20);
  EXPECT_EQ(estimate_.peak_reserved_bytes(), 60 << 20);
  EXPECT_EQ(estimate_.ends(), "ok");
  EXPECT_EQ(estimate_.reach(), v1::ESTIMATE_REACH_EXTRAPOLATED);
  EXPECT_EQ(estimate_.sources().constant_bytes(), 4 << 20);
  EXPECT_EQ(estimate_.sources().affine_bytes(), 40 << 20);
  EXPECT_LE(estimate_.interval().peak_requested_bytes().lower_bytes(),
            44 << 20);
  EXPECT_GE(estimate_.interval().peak_requested_bytes().upper_bytes(),
            44 << 20);
  EXPECT_DOUBLE_EQ(estimate_.similarity_ratio(), 1);
}

TEST_F(PlanServiceTest, RefusesWhatGivesNoEstimate) {
  const auto refused = [](const char* field) {
    return IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_ESTIMATE",
                      field);
  };
  EXPECT_THAT(Estimate({Target(0)}), refused("header.batch"));
  EXPECT_THAT(Estimate({Target(8), Batch(0)}), refused("trace.batch"));
  EXPECT_THAT(Estimate({Target(40), Batch(18), Text(18)}), refused(""));
  EXPECT_THAT(Estimate({Target(40), Batch(18), Text(18), Batch(18), Text(18)}),
              refused(""));
  EXPECT_THAT(Estimate({Batch(18)}),
              IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REPLAY",
                         "header"));
  EXPECT_THAT(Estimate({Target(8), Text(18)}),
              IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REPLAY",
                         "trace_chunk"));
}

}  // namespace
}  // namespace memplan::testing
