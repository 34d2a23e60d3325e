#include "client/cli/probe_run.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/connection.h"
#include "client/cli/device_argument.h"
#include "client/cli/follow.h"
#include "client/cli/interruption.h"
#include "client/cli/model_argument.h"
#include "client/cli/words.h"
#include "client/errors.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

// 128 random bits as hexadecimal digits: no two probes ever share one.
std::string RandomRequestId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(),
                         random());
}

absl::Status CheckLimit(const v1::ProbeSpec& spec, const v1::Device& device) {
  if (device.kind() != v1::DEVICE_KIND_CPU ||
      spec.limit_case() != v1::ProbeSpec::LIMIT_NOT_SET) {
    return absl::OkStatus();
  }
  return UsageError(
      "the cpu device imitates a GPU of any size, so it needs one: give --cap, "
      "such as --cap 2GiB, or --budget");
}

// The spec with model, loss and device filled in.
absl::StatusOr<v1::ProbeSpec> CompleteSpec(const ProbeOptions& options,
                                           Client& client,
                                           const Interruption& interruption,
                                           Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices,
                           client.ListDevices());
  MEMPLAN_ASSIGN_OR_RETURN(const v1::Device device,
                           ChooseDevice(devices, options.device, console));
  MEMPLAN_RETURN_IF_ERROR(CheckLimit(options.spec, device));
  MEMPLAN_ASSIGN_OR_RETURN(
      const v1::Model model,
      ResolveModel(client, options.model, console, interruption.token()));
  v1::ProbeSpec spec = options.spec;
  spec.set_device_id(device.id());
  spec.set_model_sha256(model.sha256());
  if (!options.loss.empty()) {
    MEMPLAN_ASSIGN_OR_RETURN(
        const v1::Model loss,
        ResolveModel(client, options.loss, console, interruption.token()));
    spec.mutable_step()->set_loss_model_sha256(loss.sha256());
  }
  return spec;
}

absl::StatusOr<v1::Probe> StartProbe(const ProbeOptions& options,
                                     Client& client,
                                     const Interruption& interruption,
                                     Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const v1::ProbeSpec spec,
      CompleteSpec(options, client, interruption, console));
  MEMPLAN_ASSIGN_OR_RETURN(v1::Probe probe,
                           client.CreateProbe(spec, RandomRequestId()));
  console.Say(absl::StrCat("probe ", probe.id(), ": ", ModeWords(spec), ", on ",
                           spec.device_id()));
  return probe;
}

// A private daemon that went away leaves nothing to look at but its last words.
void SayLastWords(const Connection& connection, const absl::Status& error,
                  Console& console) {
  if (connection.private_daemon != nullptr && absl::IsUnavailable(error)) {
    console.Say(absl::StrCat("the private daemon's last words:\n",
                             connection.private_daemon->LastWords()));
  }
}

}  // namespace

int RunProbe(const ProbeOptions& options, Console& console) {
  Interruption interruption;
  absl::StatusOr<Connection> connection =
      Connect(options.daemon,
              options.detach ? PrivateDaemonUse::kNever
                             : PrivateDaemonUse::kIfNoneAnswers,
              console);
  if (!connection.ok()) {
    return FailUnlessInterrupted(connection.status(), interruption, console);
  }
  if (PrivateDaemon* daemon = connection->private_daemon.get()) {
    interruption.BeforeEndingAtOnce([daemon] { daemon->EndAtOnce(); });
  }
  Client& client = *connection->client;
  absl::StatusOr<v1::Probe> probe =
      StartProbe(options, client, interruption, console);
  if (probe.ok() && options.detach) {
    const absl::Status printed =
        PrintAnswer(console, options.output, *probe, probe->id() + "\n");
    return printed.ok() ? kExitDone : console.Fail(printed);
  }
  if (probe.ok()) {
    probe = FollowProbe(client, probe->id(), OnInterruption::kCancelProbe,
                        interruption, console);
  }
  interruption.BeforeEndingAtOnce({});
  if (!probe.ok()) {
    SayLastWords(*connection, probe.status(), console);
    return FailUnlessInterrupted(probe.status(), interruption, console);
  }
  return PrintEndedProbe(*probe, options.output, interruption, console);
}

}  // namespace memplan
