// memplan check -- whether a job fits now. Holds nothing.
#include <memory>

#include "client/cli/admission_report.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/job_flags.h"
#include "client/cli/verbs.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

struct CheckOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  JobFlags job;
};

absl::StatusOr<ExitCode> CheckJob(const CheckOptions& options,
                                  Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::Job job,
                           JobOf(options.job, *connection.client));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::CheckResponse answer,
                           connection.client->Check(job));
  MEMPLAN_RETURN_IF_ERROR(PrintAnswer(console, options.output, answer,
                                      JudgementReport(answer.judgement())));
  return ExitCodeFor(answer.judgement().verdict());
}

}  // namespace

void AddCheckVerb(CLI::App& app, Command& command) {
  CLI::App* verb =
      app.add_subcommand("check", "Say whether a job fits on a device now");
  auto options = std::make_shared<CheckOptions>();
  AddJobFlags(*verb, options->job);
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const auto code = CheckJob(*options, console);
      return code.ok() ? *code : console.Fail(code.status());
    };
  });
}

}  // namespace memplan
