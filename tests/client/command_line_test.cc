// Whole command lines against a daemon in this process.
#include "client/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "client/cli/console.h"
#include "client/errors.h"
#include "tests/client/fake_daemon.h"
#include "tests/client/probes_for_tests.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::FakeDaemon;
using ::memplan::testing::FoundProbe;
using ::memplan::testing::MakeTrial;
using ::memplan::testing::RichError;
using ::memplan::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// SHA-256 of "abc", from FIPS 180-2, appendix B.1.
constexpr char kAbcHash[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

// Blocks SIGINT before any thread starts, so that only the verb under test gets
// it.
class BlockedInterrupt {
 public:
  BlockedInterrupt() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }
};

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() {
    v1::Device& cpu = *daemon_.devices.devices.add_devices();
    cpu.set_id("cpu");
    cpu.set_kind(v1::DEVICE_KIND_CPU);
    std::ofstream(folder_.Path("abc.pt")) << "abc";
  }

  // Runs a verb against the daemon; the code it exits with.
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--address", daemon_.address()});
    return RunAlone(arguments);
  }

  int RunAlone(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    Console console(out_, err_, {});
    return RunCommandLine(arguments, console);
  }

  BlockedInterrupt blocked_;
  TempDir folder_;
  FakeDaemon daemon_{folder_.Path("m.sock")};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CommandLineTest, ShowsHelpAndVersionAsTheAnswer) {
  EXPECT_EQ(RunAlone({"--help"}), kExitDone);
  EXPECT_THAT(out_.str(), HasSubstr("Exit codes"));
  EXPECT_EQ(RunAlone({"probe", "--help"}), kExitDone);
  EXPECT_THAT(out_.str(), HasSubstr("--first-batch"));
  EXPECT_EQ(RunAlone({"--version"}), kExitDone);
  EXPECT_THAT(out_.str(), StartsWith("memplan 0."));
  EXPECT_EQ(err_.str(), "");
}

class UsageTest : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(UsageTest, IsRefusedBeforeAnyDaemonIsAsked) {
  std::ostringstream out;
  std::ostringstream err;
  Console console(out, err, {});
  EXPECT_EQ(RunCommandLine(GetParam(), console), kExitUsage);
  EXPECT_EQ(out.str(), "");
  EXPECT_THAT(err.str(), HasSubstr("--help"));
}

INSTANTIATE_TEST_SUITE_P(
    CommandLines, UsageTest,
    ::testing::ValuesIn<std::vector<std::string>>({
        {},
        {"frobnicate"},
        {"list", "--bogus"},
        {"list", "--output", "xml"},
        {"list", "--timeout", "0"},
        {"list", "--limit", "0"},
        {"watch"},
        {"models"},
        {"probe", "m.pt"},
        {"probe", "--input", "float32[B]"},
        {"probe", "m.pt", "-i", "f", "--cap", "1GiB", "--budget", "1GiB"},
        {"probe", "m.pt", "-i", "f", "--cap", "much"},
        {"probe", "m.pt", "-i", "f", "--train", "adagrad"},
        {"probe", "m.pt", "-i", "f", "--train", "adam", "--infer"},
        {"probe", "m.pt", "-i", "f", "--run-as", "python"},
        {"probe", "m.pt", "-i", "f", "--steps", "101"},
        {"probe", "m.pt", "-i", "f", "--first-batch", "0"},
        {"probe", "m.pt", "-i", "f", "--max-batch", "2147483649"},
        {"probe", "m.pt", "-i", "f", "--repeat", "11"},
        {"probe", "m.pt", "-i", "f", "T"},
        {"probe", "m.pt", "-i", "f", "--detach", "--local"},
        {"probe", "m.pt", "-i", "f", "--store", "/s"},
        {"profile", "m.pt", "-i", "f"},
        {"profile", "m.pt", "-i", "f", "--batches", "1,x"},
    }));

TEST_F(CommandLineTest, RefusesAnAddressThatIsNone) {
  EXPECT_EQ(RunAlone({"list", "--address", "nowhere"}), kExitUsage);
}

TEST_F(CommandLineTest, TellsThatNobodyAnswers) {
  EXPECT_EQ(RunAlone({"list", "--address", "unix:" + folder_.Path("no.sock")}),
            kExitUnreachable);
  EXPECT_THAT(err_.str(), HasSubstr("start memplan-server"));
}

TEST_F(CommandLineTest, TakesTheAddressFromTheEnvironment) {
  setenv("MEMPLAN_ADDRESS", daemon_.address().c_str(), 1);
  const int code = RunAlone({"devices"});
  unsetenv("MEMPLAN_ADDRESS");
  EXPECT_EQ(code, kExitDone);
  EXPECT_THAT(out_.str(), HasSubstr("cpu"));
}

TEST_F(CommandLineTest, TakesTheAddressBeforeTheVerbToo) {
  EXPECT_EQ(RunAlone({"--address", daemon_.address(), "devices"}), kExitDone);
  EXPECT_EQ(RunAlone({"--address", "unix:" + folder_.Path("no.sock"), "models",
                      "list", "--address", daemon_.address()}),
            kExitDone);
}

TEST_F(CommandLineTest, ListsDevicesAsJson) {
  EXPECT_EQ(Run({"devices", "--output", "json"}), kExitDone);
  EXPECT_EQ(out_.str(),
            "{\n"
            " \"devices\": [\n"
            "  {\n"
            "   \"id\": \"cpu\",\n"
            "   \"kind\": \"DEVICE_KIND_CPU\",\n"
            "   \"display_name\": \"\",\n"
            "   \"processes\": [],\n"
            "   \"pci_bus_id\": \"\",\n"
            "   \"driver_version\": \"\",\n"
            "   \"read_error\": \"\",\n"
            "   \"snapshot_id\": \"0\",\n"
            "   \"parent_id\": \"\",\n"
            "   \"is_partitioned\": false\n"
            "  }\n"
            " ],\n"
            " \"gpu_absence_reason\": \"\"\n"
            "}\n");
}

TEST_F(CommandLineTest, UploadsListsAndDeletesAModel) {
  EXPECT_EQ(Run({"models", "upload", folder_.Path("abc.pt"), "--name", "my"}),
            kExitDone);
  EXPECT_EQ(out_.str(), std::string(kAbcHash) + "\n");
  EXPECT_EQ(daemon_.models.models[kAbcHash].display_name(), "my");
  EXPECT_EQ(Run({"models", "upload", folder_.Path("abc.pt")}), kExitDone);
  EXPECT_THAT(err_.str(), HasSubstr("stored already"));
  EXPECT_EQ(Run({"models", "list"}), kExitDone);
  EXPECT_THAT(out_.str(), HasSubstr("ba7816bf8f01  my"));
  EXPECT_EQ(Run({"models", "delete", "BA78"}), kExitDone);
  EXPECT_EQ(out_.str(), std::string("deleted ") + kAbcHash + "\n");
  EXPECT_TRUE(daemon_.models.models.empty());
}

TEST_F(CommandLineTest, RefusesABeginningThatSeveralModelsShare) {
  daemon_.models.models["aa11"].set_sha256("aa11");
  daemon_.models.models["aa22"].set_sha256("aa22");
  EXPECT_EQ(Run({"models", "delete", "aa"}), kExitError);
  EXPECT_THAT(err_.str(), HasSubstr("several stored models"));
  EXPECT_EQ(Run({"models", "delete", "bb"}), kExitError);
  EXPECT_THAT(err_.str(), HasSubstr("no stored model"));
  EXPECT_EQ(Run({"models", "delete", "xyz"}), kExitError);
  EXPECT_THAT(err_.str(), HasSubstr("no SHA-256"));
}

TEST_F(CommandLineTest, SendsTheSpecThatTheFlagsSay) {
  daemon_.probes.watches = {{.versions = {FoundProbe()}, .end = {}}};
  EXPECT_EQ(Run({"probe",       folder_.Path("abc.pt"),
                 "--input",     "int64[B,T]{0..9}",
                 "-i",          "bool[B]",
                 "--dim",       "T=256",
                 "S=3",         "--train",
                 "adamw",       "--run-as",
                 "torchscript", "--cap",
                 "2GiB",        "--steps",
                 "6",           "--first-batch",
                 "4",           "--max-batch",
                 "512",         "--repeat",
                 "3",           "--trial-timeout",
                 "90s"}),
            kExitDone);
  ASSERT_EQ(daemon_.probes.created.size(), 1U);
  const v1::ProbeSpec& spec = daemon_.probes.created[0].spec();
  EXPECT_EQ(spec.model_sha256(), kAbcHash);
  EXPECT_EQ(spec.device_id(), "cpu");
  EXPECT_THAT(spec.inputs(), ElementsAre("int64[B,T]{0..9}", "bool[B]"));
  EXPECT_EQ(spec.dimensions().at("T"), 256);
  EXPECT_EQ(spec.dimensions().at("S"), 3);
  EXPECT_EQ(spec.mode(), v1::MODE_TRAIN);
  EXPECT_EQ(spec.optimizer(), v1::OPTIMIZER_ADAMW);
  EXPECT_EQ(spec.run_as(), v1::RUN_AS_TORCHSCRIPT);
  EXPECT_EQ(spec.cap_bytes(), int64_t{2} << 30);
  EXPECT_EQ(spec.steps(), 6);
  EXPECT_EQ(spec.search().first_batch(), 4);
  EXPECT_EQ(spec.search().max_batch(), 512);
  EXPECT_EQ(spec.search().repeat(), 3);
  EXPECT_EQ(spec.trial_timeout().seconds(), 90);
  EXPECT_EQ(daemon_.probes.created[0].request_id().size(), 32U);
}

TEST_F(CommandLineTest, TrainsAsEagerAndInfersAsTorchScriptByDefault) {
  daemon_.probes.watches = {{.versions = {FoundProbe()}, .end = {}},
                            {.versions = {FoundProbe()}, .end = {}}};
  const std::string model = folder_.Path("abc.pt");
  Run({"probe", model, "-i", "float32[B]", "--cap", "1GiB"});
  Run({"probe", model, "-i", "float32[B]", "--cap", "1GiB", "--train", "sgd"});
  ASSERT_EQ(daemon_.probes.created.size(), 2U);
  EXPECT_EQ(daemon_.probes.created[0].spec().mode(), v1::MODE_INFER);
  EXPECT_EQ(daemon_.probes.created[0].spec().run_as(), v1::RUN_AS_TORCHSCRIPT);
  EXPECT_EQ(daemon_.probes.created[1].spec().run_as(), v1::RUN_AS_EAGER);
  EXPECT_NE(daemon_.probes.created[0].request_id(),
            daemon_.probes.created[1].request_id());
}

TEST_F(CommandLineTest, NeedsALimitOnTheCpuDevice) {
  EXPECT_EQ(Run({"probe", folder_.Path("abc.pt"), "-i", "float32[B]"}),
            kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--cap 2GiB"));
  EXPECT_THAT(daemon_.probes.created, IsEmpty());
}

TEST_F(CommandLineTest, TakesAStoredModelByTheBeginningOfItsHash) {
  daemon_.models.models[kAbcHash].set_sha256(kAbcHash);
  daemon_.probes.watches = {{.versions = {FoundProbe()}, .end = {}}};
  EXPECT_EQ(Run({"probe", "ba78", "-i", "float32[B]", "--cap", "1GiB"}),
            kExitDone);
  EXPECT_EQ(daemon_.probes.created[0].spec().model_sha256(), kAbcHash);
}

TEST_F(CommandLineTest, TellsThatThereIsNoSuchModelFile) {
  EXPECT_EQ(Run({"probe", "none.pt", "-i", "float32[B]", "--cap", "1GiB"}),
            kExitError);
  EXPECT_THAT(err_.str(), HasSubstr("no file none.pt"));
}

TEST_F(CommandLineTest, ShowsTheDaemonsCaret) {
  daemon_.probes.create_status =
      RichError(grpc::StatusCode::INVALID_ARGUMENT,
                "unknown type:\n  float33[B]\n  ^ column 1",
                "INPUT_SPEC_SYNTAX", "spec.inputs[0]");
  EXPECT_EQ(Run({"probe", folder_.Path("abc.pt"), "-i", "float33[B]", "--cap",
                 "1GiB"}),
            kExitError);
  EXPECT_THAT(err_.str(), HasSubstr("\n  float33[B]\n  ^ column 1\n"
                                    "  in spec.inputs[0] (--input)\n"));
}

TEST_F(CommandLineTest, ProfilesTheGivenBatches) {
  v1::Probe probe;
  probe.set_id("probe-1");
  probe.set_state(v1::PROBE_STATE_SUCCEEDED);
  *probe.add_trials() = MakeTrial(1, 5, v1::TRIAL_OUTCOME_OUT_OF_MEMORY);
  daemon_.probes.watches = {{.versions = {probe}, .end = {}}};
  EXPECT_EQ(Run({"profile", folder_.Path("abc.pt"), "-i", "float32[B]", "--cap",
                 "1GiB", "--batches", "1,8", "--batch", "32"}),
            kExitNever);
  EXPECT_THAT(daemon_.probes.created[0].spec().profile().batches(),
              ElementsAre(1, 8, 32));
  EXPECT_THAT(out_.str(), HasSubstr("out of memory"));
}

TEST_F(CommandLineTest, LeavesBatchesForTheDaemonToJudge) {
  daemon_.probes.create_status =
      RichError(grpc::StatusCode::INVALID_ARGUMENT, "a batch is 1 or more",
                "INVALID_PROBE_SPEC", "spec.profile.batches[0]");
  EXPECT_EQ(Run({"profile", folder_.Path("abc.pt"), "-i", "float32[B]", "--cap",
                 "1GiB", "--batch", "-1"}),
            kExitError);
  EXPECT_THAT(daemon_.probes.created[0].spec().profile().batches(),
              ElementsAre(-1));
  EXPECT_THAT(err_.str(), HasSubstr("spec.profile.batches[0] (--batches)"));
}

TEST_F(CommandLineTest, PrintsTheIdAndEndsIfDetached) {
  EXPECT_EQ(Run({"probe", folder_.Path("abc.pt"), "-i", "float32[B]", "--cap",
                 "1GiB", "--detach"}),
            kExitDone);
  EXPECT_EQ(out_.str(), "probe-1\n");
}

TEST_F(CommandLineTest, ReportsAProbeThatFailed) {
  v1::Probe probe;
  probe.set_id("probe-1");
  probe.set_state(v1::PROBE_STATE_FAILED);
  probe.mutable_error()->set_code(9);
  probe.mutable_error()->set_message("there is no worker at /w");
  daemon_.probes.watches = {{.versions = {probe}, .end = {}}};
  EXPECT_EQ(Run({"watch", "probe-1", "-o", "json"}), kExitError);
  EXPECT_THAT(out_.str(), HasSubstr("\"state\": \"PROBE_STATE_FAILED\""));
  EXPECT_EQ(err_.str(), "memplan: error: there is no worker at /w\n");
}

TEST_F(CommandLineTest, TellsThatTheDaemonWasRestarted) {
  v1::Probe probe = FoundProbe();
  probe.set_restart_count(1);
  daemon_.probes.watches = {{.versions = {probe}, .end = {}}};
  EXPECT_EQ(Run({"watch", "probe-1"}), kExitDone);
  EXPECT_THAT(err_.str(), HasSubstr("restarted"));
}

TEST_F(CommandLineTest, CancelsTheProbeOnAnInterrupt) {
  v1::Probe running = FoundProbe();
  running.clear_plan();
  running.set_state(v1::PROBE_STATE_RUNNING);
  v1::Probe cancelled = running;
  cancelled.set_state(v1::PROBE_STATE_CANCELLED);
  daemon_.probes.watches = {
      {.versions = {running}, .hold = true, .end = grpc::Status::CANCELLED},
      {.versions = {cancelled}, .end = {}}};
  daemon_.probes.on_hold = [] { kill(getpid(), SIGINT); };
  EXPECT_EQ(Run({"probe", folder_.Path("abc.pt"), "-i", "float32[B]", "--cap",
                 "1GiB"}),
            128 + SIGINT);
  EXPECT_THAT(daemon_.probes.cancelled, ElementsAre("probe-1"));
  EXPECT_THAT(err_.str(), HasSubstr("cancelling probe probe-1"));
  EXPECT_THAT(err_.str(), HasSubstr("probe probe-1 is cancelled"));
}

TEST_F(CommandLineTest, LeavesTheProbeAloneIfAWatchIsInterrupted) {
  v1::Probe running;
  running.set_id("probe-1");
  running.set_state(v1::PROBE_STATE_RUNNING);
  daemon_.probes.watches = {
      {.versions = {running}, .hold = true, .end = grpc::Status::CANCELLED}};
  daemon_.probes.on_hold = [] { kill(getpid(), SIGINT); };
  EXPECT_EQ(Run({"watch", "probe-1"}), 128 + SIGINT);
  EXPECT_THAT(daemon_.probes.cancelled, IsEmpty());
  EXPECT_THAT(err_.str(), HasSubstr("goes on"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("error")));
}

TEST_F(CommandLineTest, CancelsAProbeByItsId) {
  EXPECT_EQ(Run({"cancel", "probe-7"}), kExitDone);
  EXPECT_EQ(out_.str(), "probe-7 stopping\n");
  EXPECT_THAT(daemon_.probes.cancelled, ElementsAre("probe-7"));
}

TEST_F(CommandLineTest, ListsProbes) {
  daemon_.probes.probes = {FoundProbe()};
  EXPECT_EQ(Run({"list", "--limit", "5"}), kExitDone);
  EXPECT_THAT(out_.str(), HasSubstr("probe-1  succeeded  search     37"));
}

}  // namespace
}  // namespace memplan
