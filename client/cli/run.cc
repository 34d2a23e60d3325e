// memplan run … -- COMMAND -- holds memory for a command, runs it, and lets go
// when it ends: the one-line way to be safe on a shared card.
//
//   reserve (or wait) ─▶ start ─▶ adopt ─▶ … ─▶ its end ─▶ release ─▶ its code
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/admission_report.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/job_flags.h"
#include "client/cli/job_process.h"
#include "client/cli/process_start.h"
#include "client/cli/verbs.h"
#include "client/cli/words.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;

// As a shell has them.
constexpr int kExitCannotRun = 126;
constexpr int kExitNoSuchProgram = 127;
// A promise that no process has adopted is renewed this often in its lifetime.
constexpr int kRenewals = 3;

struct RunOptions {
  DaemonOptions daemon;
  ReserveFlags reserve;
  milliseconds patience{0};
  std::optional<int> out_of_memory_code;
  std::vector<std::string> command;
};

// The reservation of a command that runs.
class HeldReservation {
 public:
  HeldReservation(Client& client, v1::Reservation reservation, Console& console)
      : client_(client),
        reservation_(std::move(reservation)),
        console_(console) {}

  // Without it the promise has to be renewed as long as the command runs.
  void AdoptOrRenew(pid_t pid) {
    v1::AdoptRequest request;
    request.set_id(reservation_.id());
    request.set_token(reservation_.token());
    request.set_pid(pid);
    request.set_start_ticks(StartTicksOf(pid));
    const auto adopted = client_.Adopt(request);
    if (adopted.ok()) return;
    console_.Say(absl::StrCat("the reservation is not handed to process ", pid,
                              ", but renewed until it ends: ",
                              std::string(adopted.status().message())));
    renewing_ =
        std::jthread([this](const std::stop_token& stop) { RenewUntil(stop); });
  }

  void Report(v1::JobOutcome outcome) {
    v1::ReportOutcomeRequest request;
    request.set_id(reservation_.id());
    request.set_token(reservation_.token());
    request.set_outcome(outcome);
    (void)client_.ReportOutcome(request);
  }

  void Release() {
    renewing_ = {};
    v1::ReleaseRequest request;
    request.set_id(reservation_.id());
    request.set_token(reservation_.token());
    const auto released = client_.Release(request);
    if (released.ok()) return;
    console_.Say(absl::StrCat(
        "the reservation ", reservation_.id(),
        " is left to expire: ", std::string(released.status().message())));
  }

 private:
  void RenewUntil(const std::stop_token& stop) {
    v1::RenewRequest request;
    request.set_id(reservation_.id());
    request.set_token(reservation_.token());
    const auto pause =
        std::chrono::seconds(reservation_.lifetime().seconds()) / kRenewals;
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      never.wait_for(lock, stop, pause, [] { return false; });
      if (!stop.stop_requested()) (void)client_.Renew(request);
    }
  }

  Client& client_;
  const v1::Reservation reservation_;
  Console& console_;
  std::jthread renewing_;
};

// The variables by which the command learns its device.
std::vector<std::string> VariablesOf(const v1::Reservation& reservation) {
  std::vector<std::string> variables = {
      absl::StrCat("MEMPLAN_RESERVATION=", reservation.id()),
      absl::StrCat("MEMPLAN_DEVICE=", reservation.device_id())};
  if (reservation.device_id() != "cpu") {
    variables.push_back(
        absl::StrCat("CUDA_VISIBLE_DEVICES=", reservation.device_id()));
  }
  return variables;
}

// The reservation, or why there is none, said on the console.
absl::StatusOr<v1::Reservation> Obtain(const RunOptions& options,
                                       const std::stop_token& stop,
                                       Client& client) {
  MEMPLAN_ASSIGN_OR_RETURN(v1::ReserveRequest request,
                           RequestOf(options.reserve, client));
  if (request.holder().empty()) request.set_holder(options.command.front());
  const auto take = [](auto answer) -> absl::StatusOr<v1::Reservation> {
    if (!answer.ok()) return answer.status();
    if (answer->has_reservation()) return answer->reservation();
    return absl::ResourceExhaustedError(
        absl::StrCat(VerdictWords(answer->judgement().verdict()), ": ",
                     answer->judgement().message()));
  };
  if (options.patience.count() == 0) return take(client.Reserve(request));
  return take(client.WaitForMemory(request, options.patience, stop));
}

int RunHeld(const RunOptions& options, const v1::Reservation& reservation,
            Client& client, JobProcess& process, Console& console) {
  HeldReservation held(client, reservation, console);
  const auto pid = process.Start(options.command, VariablesOf(reservation));
  if (!pid.ok()) {
    held.Release();
    (void)console.Fail(pid.status());
    return absl::IsNotFound(pid.status()) ? kExitNoSuchProgram : kExitCannotRun;
  }
  held.AdoptOrRenew(*pid);
  const int code = process.Wait();
  if (options.out_of_memory_code == code) {
    held.Report(v1::JOB_OUTCOME_OUT_OF_MEMORY);
  } else {
    held.Report(code == 0 ? v1::JOB_OUTCOME_DONE : v1::JOB_OUTCOME_FAILED);
  }
  held.Release();
  return code;
}

int RunCommand(const RunOptions& options, Console& console) {
  JobProcess process;
  const auto connection =
      Connect(options.daemon, PrivateDaemonUse::kNever, console);
  if (!connection.ok()) {
    (void)console.Fail(connection.status());
    return kExitRunFailed;
  }
  const auto reservation =
      Obtain(options, process.token(), *connection->client);
  if (process.signal() != 0 && !reservation.ok()) {
    return 128 + process.signal();
  }
  if (!reservation.ok()) {
    (void)console.Fail(reservation.status());
    return kExitRunFailed;
  }
  return RunHeld(options, *reservation, *connection->client, process, console);
}

}  // namespace

void AddRunVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "run", "Hold memory for a command, run it, and let go when it ends");
  verb->footer(
      "The command's exit code is passed on, and signals to it; 125 if there "
      "is "
      "no daemon or no room, 126 and 127 if it cannot be run or found.");
  auto options = std::make_shared<RunOptions>();
  AddReserveFlags(*verb, options->reserve);
  AddTimeSpanFlag(
      *verb, "--wait",
      [options](milliseconds span) { options->patience = span; },
      "How long to wait for room (default not at all)");
  verb->add_option_function<int>(
          "--oom-exit-code",
          [options](int code) { options->out_of_memory_code = code; },
          "The command's exit code that means it ran out of memory: told to "
          "the daemon as a false admit")
      ->type_name("CODE");
  verb->add_option("COMMAND", options->command,
                   "The command and its arguments, after --")
      ->required()
      ->type_name("");
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      return RunCommand(*options, console);
    };
  });
}

}  // namespace memplan
