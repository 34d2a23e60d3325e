// memplan probe MODEL -- the largest safe batch, with the evidence.
#include <cstdint>
#include <memory>

#include "client/cli/probe_options.h"
#include "client/cli/probe_run.h"
#include "client/cli/verbs.h"

namespace memplan {
namespace {

constexpr int64_t kMaxBatch = int64_t{1} << 31;

const Words<v1::SearchMethod> kMethods = {
    {"auto", v1::SEARCH_METHOD_AUTO},
    {"predict", v1::SEARCH_METHOD_PREDICT},
    {"bisect", v1::SEARCH_METHOD_BISECT}};

void AddSearchFlags(CLI::App& verb, v1::SearchTask& search) {
  const auto add = [&verb](const char* name, auto store, int64_t most,
                           const char* help) {
    verb.add_option_function<int64_t>(name, store, help)
        ->check(CLI::Range(int64_t{1}, most).description(""))
        ->type_name("COUNT")
        ->group("Search");
  };
  add(
      "--first-batch",
      [&search](int64_t batch) { search.set_first_batch(batch); }, kMaxBatch,
      "The first batch tried (default 8)");
  add(
      "--max-batch", [&search](int64_t batch) { search.set_max_batch(batch); },
      kMaxBatch, "The largest batch to consider (default 65536)");
  add(
      "--repeat",
      [&search](int64_t times) {
        search.set_repeat(static_cast<int32_t>(times));
      },
      10,
      "How often the answer is run again before it is verified (default 1)");
  AddWordFlag<v1::SearchMethod>(
      verb, "--method", kMethods,
      [&search](v1::SearchMethod method) { search.set_method(method); },
      "predict: from two small batches that are recorded, verified by a run; "
      "bisect: by runs alone; auto (default): predict on a GPU, and bisect "
      "where that does not hold")
      ->group("Search");
}

}  // namespace

void AddProbeVerb(CLI::App& app, Command& command) {
  CLI::App* verb = app.add_subcommand(
      "probe", "Find the largest batch that is safe for a model on a device");
  auto options = std::make_shared<ProbeOptions>();
  AddProbeFlags(*verb, *options);
  AddSearchFlags(*verb, *options->spec.mutable_search());
  verb->footer(
      "Exits with 0 if a batch was found, 4 if not even one sample fits.");
  verb->callback([&command, options] {
    FinishProbeOptions(*options);
    command = [options](Console& console) {
      return RunProbe(*options, console);
    };
  });
}

}  // namespace memplan
