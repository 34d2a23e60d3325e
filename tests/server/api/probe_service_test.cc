#include "server/services/probe_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/api/api_server.h"
#include "tests/server/api/rpc_matchers.h"
#include "tests/server/api/upload_client.h"
#include "tests/support/scripted_model.h"

namespace memplan::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Request = v1::CreateProbeRequest;

class ProbeServiceTest : public ::testing::Test {
 protected:
  ProbeServiceTest() : model_(UploadAll(server_, ScriptedModel("{}"))) {}

  // A search on the CPU, which finds 37 with the server's table of trials.
  Request Search() {
    Request request;
    v1::ProbeSpec& spec = *request.mutable_spec();
    spec.set_model_sha256(model_);
    spec.set_device_id("cpu");
    spec.add_inputs("float32[B,3]");
    spec.set_mode(v1::MODE_INFER);
    spec.set_run_as(v1::RUN_AS_TORCHSCRIPT);
    spec.set_cap_bytes(1 << 30);
    spec.mutable_search();
    return request;
  }
  grpc::Status Create(const Request& request) {
    TestContext context;
    v1::CreateProbeResponse response;
    const grpc::Status status =
        probes_->CreateProbe(&context, request, &response);
    created_ = response.probe();
    return status;
  }
  // Creates a probe and returns its id.
  std::string Created(const Request& request) {
    EXPECT_THAT(Create(request), IsRpcOk());
    return created_.id();
  }
  // Every version that a watch gets.
  std::vector<v1::Probe> Watch(const std::string& id, grpc::Status& status) {
    TestContext context;
    v1::WatchProbeRequest request;
    request.set_id(id);
    const auto reader = probes_->WatchProbe(&context, request);
    std::vector<v1::Probe> versions;
    v1::WatchProbeResponse response;
    while (reader->Read(&response)) versions.push_back(response.probe());
    status = reader->Finish();
    return versions;
  }
  v1::Probe WatchToTheEnd(const std::string& id) {
    grpc::Status status;
    const std::vector<v1::Probe> versions = Watch(id, status);
    EXPECT_THAT(status, IsRpcOk());
    return versions.empty() ? v1::Probe() : versions.back();
  }
  grpc::Status Get(const std::string& id, v1::Probe& probe) {
    TestContext context;
    v1::GetProbeRequest request;
    request.set_id(id);
    v1::GetProbeResponse response;
    const grpc::Status status = probes_->GetProbe(&context, request, &response);
    probe = response.probe();
    return status;
  }
  grpc::Status Cancel(const std::string& id) {
    TestContext context;
    v1::CancelProbeRequest request;
    request.set_id(id);
    v1::CancelProbeResponse response;
    return probes_->CancelProbe(&context, request, &response);
  }
  grpc::Status Delete(const std::string& id) {
    TestContext context;
    v1::DeleteProbeRequest request;
    request.set_id(id);
    v1::DeleteProbeResponse response;
    return probes_->DeleteProbe(&context, request, &response);
  }

  ApiServer server_;
  std::unique_ptr<v1::ProbeService::Stub> probes_ = server_.probes();
  const std::string model_;
  v1::Probe created_;
};

TEST_F(ProbeServiceTest, FindsTheLargestBatchAndTellsWatchers) {
  const std::string id = Created(Search());
  EXPECT_EQ(created_.spec().steps(), 4);
  grpc::Status status;
  const std::vector<v1::Probe> versions = Watch(id, status);
  EXPECT_THAT(status, IsRpcOk());
  ASSERT_FALSE(versions.empty());
  for (size_t i = 1; i < versions.size(); ++i) {
    EXPECT_GT(versions[i].version(), versions[i - 1].version());
  }
  const v1::Probe& last = versions.back();
  EXPECT_EQ(last.state(), v1::PROBE_STATE_SUCCEEDED);
  EXPECT_EQ(last.plan().verdict(), v1::PLAN_VERDICT_FOUND);
  EXPECT_EQ(last.plan().safe_batch(), 37);
  EXPECT_TRUE(last.plan().verified());
  EXPECT_EQ(last.plan().trial_count(), last.trials_size());
}

TEST_F(ProbeServiceTest, WatchOfAnEndedProbeSendsItOnce) {
  const std::string id = Created(Search());
  WatchToTheEnd(id);
  grpc::Status status;
  EXPECT_EQ(Watch(id, status).size(), 1U);
  EXPECT_THAT(status, IsRpcOk());
}

TEST_F(ProbeServiceTest, ProfilesTheGivenBatches) {
  Request request = Search();
  request.mutable_spec()->mutable_profile()->add_batches(40);
  request.mutable_spec()->mutable_profile()->add_batches(2);
  const v1::Probe probe = WatchToTheEnd(Created(request));
  EXPECT_EQ(probe.state(), v1::PROBE_STATE_SUCCEEDED);
  EXPECT_FALSE(probe.has_plan());
  ASSERT_EQ(probe.trials_size(), 2);
  EXPECT_EQ(probe.trials(0).outcome(), v1::TRIAL_OUTCOME_OUT_OF_MEMORY);
  EXPECT_EQ(probe.trials(1).outcome(), v1::TRIAL_OUTCOME_FITS);
}

TEST_F(ProbeServiceTest, GivesTheSameProbeForTheSameRequestId) {
  Request request = Search();
  request.set_request_id("once");
  const std::string first = Created(request);
  EXPECT_EQ(Created(request), first);
  request.set_request_id("another");
  EXPECT_NE(Created(request), first);
}

TEST_F(ProbeServiceTest, RefusesWhatCannotBeJudged) {
  const auto refusal = [this](auto change) {
    Request request = Search();
    change(request);
    return Create(request);
  };
  EXPECT_THAT(
      refusal([](Request& r) { r.mutable_spec()->set_inputs(0, "f32[B"); }),
      IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INPUT_SPEC_SYNTAX",
                 "spec.inputs[0]"));
  EXPECT_THAT(refusal([](Request& r) {
                r.mutable_spec()->mutable_search()->set_first_batch(-1);
              }),
              IsRpcError(grpc::StatusCode::INVALID_ARGUMENT,
                         "INVALID_PROBE_SPEC", "spec.search.first_batch"));
  EXPECT_THAT(
      refusal([](Request& r) { r.mutable_spec()->set_cap_bytes(5LL << 30); }),
      IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "CAP_ABOVE_DEVICE",
                 "spec.cap_bytes"));
  EXPECT_THAT(
      refusal([](Request& r) { r.mutable_spec()->set_device_id("GPU-zzzz"); }),
      IsRpcError(grpc::StatusCode::NOT_FOUND, "DEVICE_NOT_FOUND",
                 "spec.device_id"));
  EXPECT_THAT(
      refusal([](Request& r) { r.set_request_id(std::string(65, 'x')); }),
      IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST",
                 "request_id"));
  const grpc::Status unknown_model = refusal([](Request& r) {
    r.mutable_spec()->set_model_sha256(std::string(64, '0'));
  });
  EXPECT_EQ(unknown_model.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(RpcReason(unknown_model), "MODEL_NOT_FOUND");
}

TEST_F(ProbeServiceTest, RefusesAProbeThatNoWorkerCouldRun) {
  server_.runner().LoseWorker();
  const grpc::Status status = Create(Search());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(RpcReason(status), "WORKER_UNUSABLE");
  const auto detail = FindDetail<google::rpc::PreconditionFailure>(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_THAT(detail->violations(0).description(), HasSubstr("/nowhere"));
}

TEST_F(ProbeServiceTest, RefusesAMessageAboveFourMebibytes) {
  Request request = Search();
  request.set_request_id(std::string(5 << 20, 'x'));
  EXPECT_EQ(Create(request).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ProbeServiceTest, CancelsARunningProbe) {
  server_.runner().HoldTrials();
  const std::string id = Created(Search());
  EXPECT_THAT(Cancel(id), IsRpcOk());
  EXPECT_EQ(WatchToTheEnd(id).state(), v1::PROBE_STATE_CANCELLED);
  EXPECT_THAT(Cancel(id), IsRpcOk());  // as it is
}

TEST_F(ProbeServiceTest, QueuesTheSecondProbeOfADevice) {
  server_.runner().HoldTrials();
  const std::string first = Created(Search());
  const std::string second = Created(Search());
  v1::Probe probe;
  ASSERT_THAT(Get(second, probe), IsRpcOk());
  EXPECT_EQ(probe.state(), v1::PROBE_STATE_QUEUED);
  EXPECT_THAT(Cancel(second), IsRpcOk());
  EXPECT_EQ(WatchToTheEnd(second).state(), v1::PROBE_STATE_CANCELLED);
  EXPECT_THAT(Cancel(first), IsRpcOk());
}

TEST_F(ProbeServiceTest, DeletesOnlyWhatHasEnded) {
  server_.runner().HoldTrials();
  const std::string id = Created(Search());
  EXPECT_EQ(RpcReason(Delete(id)), "PROBE_NOT_ENDED");
  EXPECT_THAT(Cancel(id), IsRpcOk());
  WatchToTheEnd(id);
  EXPECT_THAT(Delete(id), IsRpcOk());
  v1::Probe probe;
  EXPECT_EQ(RpcReason(Get(id, probe)), "PROBE_NOT_FOUND");
}

TEST_F(ProbeServiceTest, SaysWhichProbeIsUnknown) {
  const auto not_found =
      IsRpcError(grpc::StatusCode::NOT_FOUND, "PROBE_NOT_FOUND", "id");
  v1::Probe probe;
  EXPECT_THAT(Get("nobody", probe), not_found);
  EXPECT_EQ(RpcReason(Cancel("nobody")), "PROBE_NOT_FOUND");
  EXPECT_EQ(RpcReason(Delete("nobody")), "PROBE_NOT_FOUND");
  grpc::Status status;
  EXPECT_TRUE(Watch("nobody", status).empty());
  EXPECT_THAT(status, not_found);
}

TEST_F(ProbeServiceTest, ListsNewestFirstWithoutTrials) {
  const std::string first = Created(Search());
  const std::string second = Created(Search());
  const std::string third = Created(Search());
  WatchToTheEnd(third);
  std::vector<std::string> ids;
  v1::ListProbesRequest request;
  request.set_page_size(2);
  do {
    TestContext context;
    v1::ListProbesResponse response;
    ASSERT_THAT(probes_->ListProbes(&context, request, &response), IsRpcOk());
    for (const v1::Probe& probe : response.probes()) {
      EXPECT_EQ(probe.trials_size(), 0);
      ids.push_back(probe.id());
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(ids, ElementsAre(third, second, first));
}

TEST_F(ProbeServiceTest, AWatchThatItsClientEndsLeavesTheProbeAlone) {
  server_.runner().HoldTrials();
  const std::string id = Created(Search());
  TestContext context;
  v1::WatchProbeRequest request;
  request.set_id(id);
  const auto reader = probes_->WatchProbe(&context, request);
  v1::WatchProbeResponse response;
  ASSERT_TRUE(reader->Read(&response));
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  server_.runner().LetGo(1000);
  EXPECT_EQ(WatchToTheEnd(id).state(), v1::PROBE_STATE_SUCCEEDED);
}

TEST_F(ProbeServiceTest, WatchesEndWithWordsWhenTheDaemonEnds) {
  server_.runner().HoldTrials();
  const std::string id = Created(Search());
  TestContext context;
  v1::WatchProbeRequest request;
  request.set_id(id);
  const auto reader = probes_->WatchProbe(&context, request);
  v1::WatchProbeResponse response;
  ASSERT_TRUE(reader->Read(&response));
  // The first thing a daemon ends. Were the server shut down too, gRPC might close
  // the connection before the client has read the words.
  server_.jobs().Stop();
  while (reader->Read(&response)) {
  }
  EXPECT_THAT(reader->Finish(),
              IsRpcError(grpc::StatusCode::UNAVAILABLE, "SHUTTING_DOWN", ""));
}

}  // namespace
}  // namespace memplan::testing
