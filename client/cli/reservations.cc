// memplan renew|adopt|release RESERVATION -- what an owner does with a
// reservation; memplan reservations -- those there are.
#include <google/protobuf/util/time_util.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "client/cli/admission_report.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/environment.h"
#include "client/cli/process_start.h"
#include "client/cli/verbs.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using google::protobuf::util::TimeUtil;

struct OwnerOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  std::string id;
  std::string token;
  v1::RenewRequest renew;
  int64_t pid = 0;
};

using OwnerCall = std::function<absl::StatusOr<v1::Reservation>(
    Client&, const OwnerOptions&)>;

absl::Status CallAsOwner(const OwnerOptions& options, const OwnerCall& call,
                         Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::Reservation reservation,
                           call(*connection.client, options));
  return PrintAnswer(console, options.output, reservation,
                     ReservationReport(reservation));
}

std::shared_ptr<OwnerOptions> AddOwnerVerb(CLI::App& app, Command& command,
                                           const char* name, const char* help,
                                           const OwnerCall& call,
                                           CLI::App*& verb) {
  verb = app.add_subcommand(name, help);
  auto options = std::make_shared<OwnerOptions>();
  verb->add_option("RESERVATION", options->id, "The reservation's id")
      ->required()
      ->type_name("");
  verb->add_option("--token", options->token,
                   "The token it was given with (or MEMPLAN_TOKEN)")
      ->type_name("TOKEN");
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options, call] {
    command = [options, call](Console& console) -> int {
      if (options->token.empty()) {
        options->token = EnvironmentValue("MEMPLAN_TOKEN");
      }
      const absl::Status done = CallAsOwner(*options, call, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
  return options;
}

struct ReservationListOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  bool all = false;
  std::string device;
};

absl::Status ListAll(const ReservationListOptions& options, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(
      const v1::ListReservationsResponse reservations,
      connection.client->ListReservations(options.all, options.device));
  return PrintAnswer(console, options.output, reservations,
                     ReservationTable(reservations));
}

}  // namespace

void AddRenewVerb(CLI::App& app, Command& command) {
  CLI::App* verb = nullptr;
  const auto options = AddOwnerVerb(
      app, command, "renew", "Begin a reservation's lifetime anew",
      [](Client& client, const OwnerOptions& given) {
        v1::RenewRequest request = given.renew;
        request.set_id(given.id);
        request.set_token(given.token);
        return client.Renew(request);
      },
      verb);
  AddTimeSpanFlag(
      *verb, "--lifetime",
      [options](std::chrono::milliseconds span) {
        *options->renew.mutable_lifetime() =
            TimeUtil::MillisecondsToDuration(span.count());
      },
      "The new lifetime (default as before)");
  AddBytesFlag(
      *verb, "--bytes",
      [options](Bytes amount) {
        options->renew.set_promised_bytes(amount.count());
      },
      "What it is to hold from now on, at most what it holds");
}

void AddAdoptVerb(CLI::App& app, Command& command) {
  CLI::App* verb = nullptr;
  const auto options = AddOwnerVerb(
      app, command, "adopt", "Hand a reservation to the job's process",
      [](Client& client, const OwnerOptions& given) {
        v1::AdoptRequest request;
        request.set_id(given.id);
        request.set_token(given.token);
        request.set_pid(given.pid);
        request.set_start_ticks(StartTicksOf(given.pid));
        return client.Adopt(request);
      },
      verb);
  verb->add_option("--pid", options->pid, "The process")
      ->required()
      ->type_name("PID");
}

void AddReleaseVerb(CLI::App& app, Command& command) {
  CLI::App* verb = nullptr;
  AddOwnerVerb(
      app, command, "release", "End a reservation",
      [](Client& client, const OwnerOptions& given) {
        v1::ReleaseRequest request;
        request.set_id(given.id);
        request.set_token(given.token);
        return client.Release(request);
      },
      verb);
}

void AddReservationsVerb(CLI::App& app, Command& command) {
  CLI::App* verb =
      app.add_subcommand("reservations", "List who was promised what");
  auto options = std::make_shared<ReservationListOptions>();
  verb->add_flag("--all", options->all, "The last that ended as well");
  verb->add_option("--device", options->device, "Only those on this device")
      ->type_name("DEVICE");
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::Status done = ListAll(*options, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

}  // namespace memplan
