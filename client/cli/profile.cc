// memplan profile MODEL --batches 1,8,32 -- what each batch takes.
#include <cstdint>
#include <memory>
#include <vector>

#include "client/cli/probe_options.h"
#include "client/cli/probe_run.h"
#include "client/cli/verbs.h"

namespace memplan {

void AddProfileVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "profile", "Run a model at given batches and print what each takes");
  auto options = std::make_shared<ProbeOptions>();
  AddProbeFlags(*verb, *options);
  v1::ProfileTask& task = *options->spec.mutable_profile();
  verb->add_option_function<std::vector<int64_t>>(
          "--batches,--batch,-b",
          [&task](const std::vector<int64_t>& batches) {
            task.mutable_batches()->Assign(batches.begin(), batches.end());
          },
          "The batches to run, such as 1,8,32")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("COUNT,...")
      ->group("What is run");
  verb->footer(
      "Exits with 0 if every batch fits or ran out of memory and at least one\n"
      "fits, 4 if all ran out of memory, 1 if a batch failed in another way.");
  verb->callback([&command, options] {
    FinishProbeOptions(*options);
    command = [options](Console& console) {
      return RunProbe(*options, console);
    };
  });
}

}  // namespace memplan
