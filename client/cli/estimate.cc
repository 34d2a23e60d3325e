// memplan estimate --trace 8=FILE --trace 32=FILE --batch 96 -- what a batch
// takes that was never run.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/replay_conditions.h"
#include "client/cli/replay_report.h"
#include "client/cli/verbs.h"
#include "client/trace_file/trace_file.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

constexpr int64_t kMaxBatch = int64_t{1} << 30;

struct BatchFile {
  int64_t batch = 0;
  std::string file;
};

struct EstimateOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  v1::EstimateHeader header;
  std::vector<BatchFile> traces;
};

// `32=trace.tsv.xz`. Throws CLI::ValidationError.
BatchFile ReadBatchFile(const std::string& text) {
  const size_t equals = text.find('=');
  BatchFile trace;
  if (equals == std::string::npos || equals + 1 == text.size() ||
      !absl::SimpleAtoi(text.substr(0, equals), &trace.batch) ||
      trace.batch < 1 || trace.batch > kMaxBatch) {
    throw CLI::ValidationError(
        "--trace",
        absl::StrCat("\"", text, "\" is not BATCH=FILE, such as 32=trace.tsv"));
  }
  trace.file = text.substr(equals + 1);
  return trace;
}

absl::Status Estimate(const EstimateOptions& options, Console& console) {
  std::vector<BatchTrace> traces;
  for (const BatchFile& trace : options.traces) {
    BatchTrace read{.batch = trace.batch, .text = {}};
    MEMPLAN_ASSIGN_OR_RETURN(read.text, ReadTraceFile(trace.file));
    traces.push_back(std::move(read));
  }
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kIfNoneAnswers, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::EstimateResponse estimate,
                           connection.client->Estimate(options.header, traces));
  return PrintAnswer(console, options.output, estimate, EstimateTable(estimate),
                     JsonLayout::kOneLine);
}

}  // namespace

void AddEstimateVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "estimate", "Say what a batch takes from the traces of other batches");
  auto options = std::make_shared<EstimateOptions>();
  verb->add_option_function<std::vector<std::string>>(
          "--trace",
          [options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              options->traces.push_back(ReadBatchFile(text));
            }
          },
          "A recorded batch and its trace as text, .xz or not; at least twice")
      ->required()
      ->allow_extra_args(false)
      ->type_name("BATCH=FILE");
  verb->add_option_function<int64_t>(
          "--batch,-b",
          [options](int64_t batch) { options->header.set_batch(batch); },
          "The batch to estimate")
      ->required()
      ->check(CLI::Range(int64_t{1}, kMaxBatch).description(""))
      ->type_name("COUNT");
  AddReplayConditions(*verb, options->header);
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  options->daemon.keeps_nothing = true;
  AddPrivateDaemonFlags(*verb, options->daemon);
  verb->footer(
      "Needs no GPU. The traces are of one model, mode and optimizer; the\n"
      "larger the largest, the better. Exits with 0 once it is answered.");
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::Status done = Estimate(*options, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

}  // namespace memplan
