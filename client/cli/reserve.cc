// memplan reserve, memplan wait -- hold memory for a job, at once or as soon as
// there is room.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "client/cli/admission_report.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/interruption.h"
#include "client/cli/job_flags.h"
#include "client/cli/verbs.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;

// How long `memplan wait` waits unless it is told.
constexpr milliseconds kUsualPatience = std::chrono::minutes(5);

struct ReserveOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  ReserveFlags reserve;
  milliseconds patience = kUsualPatience;
  bool waits = false;
};

std::string Report(const v1::Judgement& judgement,
                   const v1::Reservation* reservation) {
  return reservation != nullptr ? ReservationReport(*reservation)
                                : JudgementReport(judgement);
}

template <typename Response>
absl::StatusOr<ExitCode> Answer(const ReserveOptions& options, Console& console,
                                const Response& response) {
  MEMPLAN_RETURN_IF_ERROR(PrintAnswer(
      console, options.output, response,
      Report(response.judgement(),
             response.has_reservation() ? &response.reservation() : nullptr)));
  return ExitCodeFor(response.judgement().verdict());
}

absl::StatusOr<ExitCode> ReserveNow(const ReserveOptions& options,
                                    Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ReserveRequest request,
                           RequestOf(options.reserve, *connection.client));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ReserveResponse response,
                           connection.client->Reserve(request));
  return Answer(options, console, response);
}

absl::StatusOr<ExitCode> WaitFor(const ReserveOptions& options,
                                 const Interruption& interruption,
                                 Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ReserveRequest request,
                           RequestOf(options.reserve, *connection.client));
  MEMPLAN_ASSIGN_OR_RETURN(
      const v1::WaitForMemoryResponse response,
      connection.client->WaitForMemory(request, options.patience,
                                       interruption.token()));
  return Answer(options, console, response);
}

int RunReserve(const ReserveOptions& options, Console& console) {
  if (!options.waits) {
    const auto code = ReserveNow(options, console);
    return code.ok() ? *code : console.Fail(code.status());
  }
  const Interruption interruption;
  const auto code = WaitFor(options, interruption, console);
  if (interruption.signal() != 0) return 128 + interruption.signal();
  return code.ok() ? *code : console.Fail(code.status());
}

void AddVerb(CLI::App& app, Command& command, bool waits) {
  CLI::App* verb = app.add_subcommand(
      waits ? "wait" : "reserve",
      waits ? "Wait for room, then hold a device's memory for a job"
            : "Hold a device's memory for a job, if it fits now");
  auto options = std::make_shared<ReserveOptions>();
  options->waits = waits;
  AddReserveFlags(*verb, options->reserve);
  if (waits) {
    AddTimeSpanFlag(
        *verb, "--for",
        [options](milliseconds span) { options->patience = span; },
        "How long to wait (default 5m)");
  }
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      return RunReserve(*options, console);
    };
  });
}

}  // namespace

void AddReserveVerb(CLI::App& app, Command& command) {
  AddVerb(app, command, false);
}

void AddWaitVerb(CLI::App& app, Command& command) {
  AddVerb(app, command, true);
}

}  // namespace memplan
