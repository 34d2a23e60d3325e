#include "client/cli/listings.h"

#include <gtest/gtest.h>

#include "client/cli/progress.h"
#include "client/cli/words.h"
#include "tests/client/probes_for_tests.h"

namespace memplan {
namespace {

using ::memplan::testing::FoundProbe;

TEST(DeviceTableTest, ShowsDashesForWhatTheDriverDoesNotGive) {
  v1::ListDevicesResponse devices;
  v1::Device& gpu = *devices.add_devices();
  gpu.set_id("GPU-1");
  gpu.set_display_name("NVIDIA H200");
  gpu.set_total_bytes(int64_t{141} << 30);
  gpu.set_used_bytes(1 << 30);
  gpu.set_read_error("the GPU is lost");
  v1::DeviceProcess& process = *gpu.add_processes();
  process.set_pid(4321);
  process.set_name("python");
  process.set_used_bytes(1 << 30);
  v1::Device& cpu = *devices.add_devices();
  cpu.set_id("cpu");
  cpu.set_free_bytes(8 << 20);
  EXPECT_EQ(DeviceTable(devices),
            "DEVICE  NAME           TOTAL  DRIVER RESERVE      USED      FREE  "
            "UNATTRIBUTED\n"
            "GPU-1   NVIDIA H200  141 GiB               -  1.00 GiB         -  "
            "           -\n"
            "cpu                        -               -         -  8.00 MiB  "
            "           -\n"
            "GPU-1 could not be read: the GPU is lost\n"
            "\n"
            "DEVICE   PID      USED  PROCESS\n"
            "GPU-1   4321  1.00 GiB  python\n");
}

TEST(ModelTableTest, ShowsAModelALine) {
  v1::ListModelsResponse models;
  v1::Model& model = *models.add_models();
  model.set_sha256(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  model.set_display_name("resnet50.pt");
  model.set_size_bytes(100 << 20);
  model.mutable_create_time()->set_seconds(1'700'000'000);
  EXPECT_EQ(ModelTable(models),
            "MODEL         NAME            SIZE  STORED\n"
            "ba7816bf8f01  resnet50.pt  100 MiB  2023-11-14 22:13:20Z\n");
}

TEST(ModelTableTest, ShowsHowFarAnUploadHasCome) {
  v1::ListModelsResponse models;
  v1::Model& model = *models.add_models();
  model.set_sha256(std::string(64, 'a'));
  model.set_size_bytes(100 << 20);
  model.set_committed_bytes(25 << 20);
  model.set_state(v1::MODEL_STATE_UPLOADING);
  EXPECT_EQ(ModelTable(models),
            "MODEL         NAME     SIZE  STORED\n"
            "aaaaaaaaaaaa        100 MiB  uploading, 25.0 MiB (25 %)\n");
}

TEST(ProbeTableTest, ShowsAProbeALine) {
  v1::ListProbesResponse probes;
  *probes.add_probes() = FoundProbe();
  v1::Probe& queued = *probes.add_probes();
  queued.set_id("probe-2");
  queued.set_state(v1::PROBE_STATE_QUEUED);
  queued.mutable_spec()->set_mode(v1::MODE_INFER);
  queued.mutable_spec()->set_run_as(v1::RUN_AS_TORCHSCRIPT);
  queued.mutable_spec()->set_device_id("cpu");
  queued.mutable_spec()->mutable_profile();
  EXPECT_EQ(ProbeTable(probes),
            "PROBE    STATE      TASK     BATCH  MODE                   MODEL  "
            "DEVICE  CREATED\n"
            "probe-1  succeeded  search      37  train adam, as eager          "
            "GPU-1\n"
            "probe-2  queued     profile         infer, as torchscript         "
            "cpu\n");
}

TEST(ProbeLineTest, TellsTheTrialTheStepAndTheBracket) {
  v1::Probe probe;
  probe.set_state(v1::PROBE_STATE_RUNNING);
  v1::ProbeProgress& progress = *probe.mutable_progress();
  progress.set_trial_number(5);
  progress.set_batch(48);
  progress.set_purpose(v1::TRIAL_PURPOSE_SEARCH);
  progress.set_phase("step");
  progress.set_steps_done(1);
  progress.set_steps_total(4);
  progress.set_largest_running_batch(32);
  progress.set_smallest_failing_batch(64);
  EXPECT_EQ(ProbeLine(probe),
            "trial 5, batch 48 (search) [#####---------------] step 2 of 4, "
            "runs at 32, fails at 64");
}

TEST(ProbeLineTest, TellsThePlaceInTheQueue) {
  v1::Probe probe;
  probe.set_state(v1::PROBE_STATE_QUEUED);
  probe.mutable_spec()->set_device_id("cpu");
  EXPECT_EQ(ProbeLine(probe), "waiting to start");
  probe.set_queue_position(2);
  EXPECT_EQ(ProbeLine(probe), "waiting for 2 other probes on cpu");
}

TEST(UploadLineTest, ShowsTheShareThatWasSent) {
  EXPECT_EQ(UploadLine("m.pt", 1 << 20, 4 << 20),
            "uploading m.pt [#####---------------] 1.00 MiB of 4.00 MiB");
}

TEST(BarTest, IsEmptyWithoutATotalAndNeverOverfull) {
  EXPECT_EQ(Bar(1, 0), "[--------------------]");
  EXPECT_EQ(Bar(9, 4), "[####################]");
}

TEST(DurationWordsTest, PicksTheUnit) {
  google::protobuf::Duration duration;
  duration.set_nanos(500'000'000);
  EXPECT_EQ(DurationWords(duration), "500 ms");
  duration.set_seconds(12);
  EXPECT_EQ(DurationWords(duration), "12.5 s");
  duration.set_seconds(124);
  EXPECT_EQ(DurationWords(duration), "2 min 5 s");
}

TEST(WordsTest, ShowAValueOfANewerDaemonByItsNumber) {
  EXPECT_EQ(OutcomeWords(static_cast<v1::TrialOutcome>(77)), "unknown (77)");
}

}  // namespace
}  // namespace memplan
