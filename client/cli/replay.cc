// memplan replay TRACE... -- what a recorded trace takes under other settings.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/replay_conditions.h"
#include "client/cli/replay_report.h"
#include "client/cli/verbs.h"
#include "client/trace_file/trace_file.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

struct ReplayOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  v1::ReplayHeader header;
  std::vector<std::string> files;
};

// `recorded`, …, `random:SEED`. Throws CLI::ValidationError for other words.
void ReadAddresses(const std::string& text, v1::ReplayHeader& header) {
  static const Words<v1::AddressOrder> kOrders = {
      {"recorded", v1::ADDRESS_ORDER_RECORDED},
      {"descending", v1::ADDRESS_ORDER_DESCENDING},
      {"ascending", v1::ADDRESS_ORDER_ASCENDING},
      {"chunks", v1::ADDRESS_ORDER_CHUNKS}};
  const auto order =
      std::find_if(kOrders.begin(), kOrders.end(),
                   [&text](const auto& word) { return word.first == text; });
  absl::string_view seed = text;
  uint64_t number = 0;
  if (order != kOrders.end()) {
    header.set_addresses(order->second);
  } else if (absl::ConsumePrefix(&seed, "random:") &&
             absl::SimpleAtoi(seed, &number)) {
    header.set_addresses(v1::ADDRESS_ORDER_RANDOM);
    header.set_address_seed(number);
  } else {
    throw CLI::ValidationError(
        "--addresses", absl::StrCat("\"", text,
                                    "\" is none of recorded, descending, "
                                    "ascending, chunks and random:SEED"));
  }
}

// `status` with the file it is about, details kept.
absl::Status InFile(const std::string& file, const absl::Status& status) {
  absl::Status named(status.code(), absl::StrCat(file, ": ", status.message()));
  status.ForEachPayload(
      [&named](absl::string_view url, const absl::Cord& detail) {
        named.SetPayload(url, detail);
      });
  return named;
}

absl::Status ReplayFile(const ReplayOptions& options, const std::string& file,
                        Client& client, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::string trace, ReadTraceFile(file));
  const auto replay = client.Replay(options.header, trace);
  if (!replay.ok()) return InFile(file, replay.status());
  const std::string head =
      options.files.size() > 1 ? absl::StrCat("\n", file, "\n") : "";
  return PrintAnswer(console, options.output, *replay,
                     absl::StrCat(head, ReplayTable(*replay)),
                     JsonLayout::kOneLine);
}

absl::Status ReplayFiles(const ReplayOptions& options, Console& console) {
  if (std::count(options.files.begin(), options.files.end(), "-") > 1) {
    return UsageError("standard input (-) can be read only once");
  }
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kIfNoneAnswers, console));
  for (const std::string& file : options.files) {
    MEMPLAN_RETURN_IF_ERROR(
        ReplayFile(options, file, *connection.client, console));
  }
  return absl::OkStatus();
}

}  // namespace

void AddReplayVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "replay", "Say what a recorded trace takes under given settings");
  auto options = std::make_shared<ReplayOptions>();
  verb->add_option("TRACE", options->files,
                   "Traces as text, .xz or not; - is standard input")
      ->required()
      ->type_name("FILE");
  AddReplayConditions(*verb, options->header);
  verb->add_option_function<std::string>(
          "--addresses",
          [options](const std::string& text) {
            ReadAddresses(text, options->header);
          },
          "Where new segments lie (default recorded; with other settings than "
          "the recording's choose another)")
      ->type_name("recorded|descending|ascending|chunks|random:SEED");
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  options->daemon.keeps_nothing = true;
  AddPrivateDaemonFlags(*verb, options->daemon);
  verb->footer(
      "Needs no GPU. Several traces are answered in order, as JSON one a "
      "line.\n"
      "Exits with 0 once all are answered, also if one runs out of memory.");
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::Status done = ReplayFiles(*options, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

}  // namespace memplan
