// The flags of what a replay runs under: --settings and --cap.
#ifndef MEMPLAN_CLIENT_CLI_REPLAY_CONDITIONS_H_
#define MEMPLAN_CLIENT_CLI_REPLAY_CONDITIONS_H_

#include <CLI/App.hpp>
#include <string>

#include "client/cli/arguments.h"

namespace memplan {

// `Header` is v1::ReplayHeader or v1::EstimateHeader; it must outlive the verb.
template <typename Header>
void AddReplayConditions(CLI::App& verb, Header& header) {
  verb.add_option_function<std::string>(
          "--settings",
          [&header](const std::string& text) { header.set_settings(text); },
          "Allocator settings as in PYTORCH_CUDA_ALLOC_CONF (default: none)")
      ->type_name("TEXT");
  AddBytesFlag(
      verb, "--cap",
      [&header](Bytes cap) { header.set_cap_bytes(cap.count()); },
      "The most the allocator may hold, such as 16GiB (default: no cap)");
}

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_REPLAY_CONDITIONS_H_
