// The client against a daemon in this process.
#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/errors.h"
#include "tests/client/fake_daemon.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeDaemon;
using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// SHA-256 of "abc", from FIPS 180-2, appendix B.1.
constexpr char kAbcHash[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class ClientTest : public ::testing::Test {
 protected:
  Client MakeClient(
      std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
    return Client({.address = *ParseAddress(daemon_.address()),
                   .timeout = timeout,
                   .reconnect_patience = std::chrono::seconds(10)});
  }

  std::string WriteFile(const std::string& name, const std::string& content) {
    std::ofstream(folder_.Path(name), std::ios::binary) << content;
    return folder_.Path(name);
  }

  static v1::Probe ProbeIn(v1::ProbeState state, int64_t version) {
    v1::Probe probe;
    probe.set_id("probe-1");
    probe.set_state(state);
    probe.set_version(version);
    return probe;
  }

  TempDir folder_;
  FakeDaemon daemon_{folder_.Path("m.sock")};
};

TEST_F(ClientTest, UploadsAFileUnderItsHash) {
  Client client = MakeClient();
  const auto response =
      client.UploadModel(WriteFile("abc.pt", "abc"), "abc.pt", {}, {});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->model().sha256(), kAbcHash);
  EXPECT_FALSE(response->already_stored());
  EXPECT_EQ(daemon_.models.contents[kAbcHash], "abc");
  EXPECT_EQ(daemon_.models.models[kAbcHash].display_name(), "abc.pt");
}

TEST_F(ClientTest, UploadsALargeFileInPiecesOf512KiB) {
  std::string content(1'200'000, 'x');
  content[700'000] = 'y';
  Client client = MakeClient();
  std::vector<std::pair<int64_t, int64_t>> progress;
  const auto response =
      client.UploadModel(WriteFile("big.pt", content), "big",
                         {.on_progress =
                              [&](int64_t sent, int64_t total) {
                                progress.emplace_back(sent, total);
                              }},
                         {});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(daemon_.models.contents[response->model().sha256()], content);
  EXPECT_THAT(daemon_.models.chunk_sizes, ElementsAre(524288, 524288, 151424));
  EXPECT_THAT(progress,
              ElementsAre(Pair(524288, 1200000), Pair(1048576, 1200000),
                          Pair(1200000, 1200000)));
}

TEST_F(ClientTest, DoesNotSendWhatIsStored) {
  daemon_.models.models[kAbcHash].set_sha256(kAbcHash);
  Client client = MakeClient();
  const auto response =
      client.UploadModel(WriteFile("abc.pt", "abc"), "abc.pt", {}, {});
  ASSERT_THAT(response, IsOk());
  EXPECT_TRUE(response->already_stored());
  EXPECT_TRUE(daemon_.models.contents.empty());
}

TEST_F(ClientTest, GoesOnWhereAnUploadBrokeOff) {
  std::string content(1'200'000, 'x');
  content[700'000] = 'y';
  daemon_.models.upload_breaks = {
      {grpc::StatusCode::UNAVAILABLE, "Socket closed"},
      {grpc::StatusCode::UNKNOWN, "Stream removed"}};
  Client client = MakeClient();
  int waits = 0;
  const auto response = client.UploadModel(
      WriteFile("big.pt", content), "big",
      {.on_wait = [&](const absl::Status&) { ++waits; }}, {});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(waits, 2);
  EXPECT_EQ(daemon_.models.contents[response->model().sha256()], content);
  // Each piece once: 1,200,000 bytes less two times 512 KiB.
  EXPECT_THAT(daemon_.models.chunk_sizes, ElementsAre(524288, 524288, 151424));
}

TEST_F(ClientTest, GivesUpAnUploadThatIsRefused) {
  daemon_.models.upload_breaks = {
      {grpc::StatusCode::RESOURCE_EXHAUSTED, "the disk is full"}};
  Client client = MakeClient();
  EXPECT_THAT(client.UploadModel(WriteFile("abc.pt", "abc"), "abc.pt", {}, {}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("disk is full")));
}

TEST_F(ClientTest, RefusesFilesThatCannotBeModels) {
  Client client = MakeClient();
  EXPECT_THAT(client.UploadModel(folder_.Path("none.pt"), "", {}, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.pt")));
  EXPECT_THAT(client.UploadModel(folder_.path(), "", {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no regular file")));
  EXPECT_THAT(
      client.UploadModel(WriteFile("empty.pt", ""), "", {}, {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is empty")));
}

TEST_F(ClientTest, StopsAnUploadWhenAskedTo) {
  std::stop_source stop;
  Client client = MakeClient();
  EXPECT_THAT(
      client.UploadModel(
          WriteFile("big.pt", std::string(3'000'000, 'x')), "big",
          {.on_progress = [&stop](int64_t, int64_t) { stop.request_stop(); }},
          stop.get_token()),
      StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ClientTest, ListsModelsOfEveryPage) {
  for (const char* sha : {"aa", "bb", "cc", "dd", "ee"}) {
    daemon_.models.models[sha].set_sha256(sha);
  }
  Client client = MakeClient();
  const auto models = client.ListModels();
  ASSERT_THAT(models, IsOk());
  EXPECT_EQ(models->models_size(), 5);
  EXPECT_EQ(models->models(4).sha256(), "ee");
}

TEST_F(ClientTest, ListsNoMoreProbesThanAskedFor) {
  for (int64_t version : {1, 2, 3}) {
    daemon_.probes.probes.push_back(
        ProbeIn(v1::PROBE_STATE_SUCCEEDED, version));
  }
  Client client = MakeClient();
  const auto probes = client.ListProbes(2);
  ASSERT_THAT(probes, IsOk());
  EXPECT_EQ(probes->probes_size(), 2);
}

TEST_F(ClientTest, RepeatsAReadThatMeetsABusyDaemon) {
  daemon_.models.models[kAbcHash].set_sha256(kAbcHash);
  daemon_.models.unavailable_reads = 2;
  Client client = MakeClient();
  EXPECT_THAT(client.GetModel(kAbcHash), IsOk());
}

TEST_F(ClientTest, SendsAChangeOnce) {
  daemon_.models.unavailable_deletes = 1;
  Client client = MakeClient();
  EXPECT_THAT(client.DeleteModel(kAbcHash),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(daemon_.models.delete_calls, 1);
}

TEST_F(ClientTest, TellsWhereNobodyAnswers) {
  Client client({.address = *ParseAddress("unix:" + folder_.Path("no.sock"))});
  const auto devices = client.ListDevices();
  EXPECT_THAT(devices,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no.sock")));
  EXPECT_EQ(ExitCodeFor(devices.status()), kExitUnreachable);
}

TEST_F(ClientTest, GivesUpOnADaemonThatDoesNotAnswerInTime) {
  daemon_.devices.never_answers = true;
  Client client = MakeClient(std::chrono::milliseconds(50));
  EXPECT_THAT(
      client.ListDevices(),
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 50ms")));
}

TEST_F(ClientTest, PassesTheDaemonsDetailsOn) {
  daemon_.probes.create_status =
      testing::RichError(grpc::StatusCode::INVALID_ARGUMENT, "bad",
                         "INVALID_PROBE_SPEC", "spec.steps");
  Client client = MakeClient();
  const auto probe = client.CreateProbe({}, "id");
  EXPECT_EQ(ErrorReason(probe.status()), "INVALID_PROBE_SPEC");
  EXPECT_THAT(ErrorText(probe.status()), HasSubstr("spec.steps (--steps)"));
}

TEST_F(ClientTest, WatchesAProbeToItsEnd) {
  daemon_.probes.watches = {
      {.versions = {ProbeIn(v1::PROBE_STATE_QUEUED, 1),
                    ProbeIn(v1::PROBE_STATE_RUNNING, 2),
                    ProbeIn(v1::PROBE_STATE_SUCCEEDED, 3)},
       .end = grpc::Status::OK}};
  Client client = MakeClient();
  std::vector<int64_t> versions;
  const auto probe = client.WatchProbe(
      "probe-1",
      {.on_change =
           [&](const v1::Probe& p) { versions.push_back(p.version()); },
       .on_lost = {}},
      {});
  ASSERT_THAT(probe, IsOk());
  EXPECT_EQ(probe->version(), 3);
  EXPECT_THAT(versions, ElementsAre(1, 2, 3));
}

TEST_F(ClientTest, GoesOnWatchingAfterTheDaemonCameBack) {
  daemon_.probes.watches = {
      {.versions = {ProbeIn(v1::PROBE_STATE_RUNNING, 2)},
       .end = {grpc::StatusCode::UNAVAILABLE, "Socket closed"}},
      {.versions = {ProbeIn(v1::PROBE_STATE_SUCCEEDED, 5)},
       .end = grpc::Status::OK}};
  Client client = MakeClient();
  std::vector<absl::Status> lost;
  int back = 0;
  const auto probe = client.WatchProbe(
      "probe-1",
      {.on_change = {},
       .on_lost = [&](const absl::Status& status) { lost.push_back(status); },
       .on_back = [&] { ++back; }},
      {});
  ASSERT_THAT(probe, IsOk());
  EXPECT_EQ(probe->version(), 5);
  EXPECT_THAT(lost, ElementsAre(StatusIs(absl::StatusCode::kUnavailable)));
  EXPECT_EQ(back, 1);
  EXPECT_THAT(daemon_.probes.after_versions, ElementsAre(0, 2));
}

TEST_F(ClientTest, DoesNotWaitForADaemonNeverHeardFrom) {
  daemon_.probes.watches = {
      {.versions = {}, .end = {grpc::StatusCode::UNAVAILABLE, "no"}}};
  Client client = MakeClient();
  EXPECT_THAT(client.WatchProbe("probe-1", {}, {}),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ClientTest, TellsThatAProbeIsUnknown) {
  Client client = MakeClient();
  const auto probe = client.WatchProbe("probe-9", {}, {});
  EXPECT_THAT(probe, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(ErrorReason(probe.status()), "PROBE_NOT_FOUND");
}

TEST_F(ClientTest, StopsWatchingWhenAskedTo) {
  std::stop_source stop;
  daemon_.probes.watches = {{.versions = {ProbeIn(v1::PROBE_STATE_RUNNING, 1)},
                             .hold = true,
                             .end = grpc::Status::CANCELLED}};
  Client client = MakeClient();
  EXPECT_THAT(client.WatchProbe(
                  "probe-1",
                  {.on_change = [&](const v1::Probe&) { stop.request_stop(); },
                   .on_lost = {}},
                  stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace memplan
