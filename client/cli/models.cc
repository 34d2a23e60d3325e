// memplan models upload|list|delete -- the models that the daemon keeps.
#include <memory>
#include <string>
#include <vector>

#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/follow.h"
#include "client/cli/interruption.h"
#include "client/cli/listings.h"
#include "client/cli/model_argument.h"
#include "client/cli/verbs.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

struct ModelsOptions {
  DaemonOptions daemon;
  OutputFormat output = OutputFormat::kTable;
  std::string model;  // a file for upload, digits for delete
  std::string name;
};

absl::Status Upload(const ModelsOptions& options,
                    const Interruption& interruption, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(
      const v1::UploadModelResponse response,
      UploadModelFile(*connection.client, options.model, options.name, console,
                      interruption.token()));
  return PrintAnswer(console, options.output, response,
                     response.model().sha256() + "\n");
}

absl::Status List(const ModelsOptions& options, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ListModelsResponse models,
                           connection.client->ListModels());
  return PrintAnswer(console, options.output, models, ModelTable(models));
}

absl::Status Delete(const ModelsOptions& options, Console& console) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const Connection connection,
      Connect(options.daemon, PrivateDaemonUse::kNever, console));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::Model model,
                           FindStoredModel(*connection.client, options.model));
  MEMPLAN_ASSIGN_OR_RETURN(const v1::DeleteModelResponse response,
                           connection.client->DeleteModel(model.sha256()));
  return PrintAnswer(console, options.output, response,
                     "deleted " + model.sha256() + "\n");
}

void AddUpload(CLI::App& models, Command& command) {
  CLI::App* verb = models.add_subcommand(
      "upload", "Store a TorchScript file; prints its SHA-256");
  auto options = std::make_shared<ModelsOptions>();
  verb->add_option("FILE", options->model,
                   "What torch.jit.save wrote; sent unless the daemon has it")
      ->required()
      ->type_name("");
  verb->add_option("--name", options->name,
                   "A name for people (default the file's)")
      ->type_name("TEXT");
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const Interruption interruption;
      const absl::Status done = Upload(*options, interruption, console);
      return done.ok() ? kExitDone
                       : FailUnlessInterrupted(done, interruption, console);
    };
  });
}

void AddList(CLI::App& models, Command& command) {
  CLI::App* verb =
      models.add_subcommand("list", "List the stored models, newest first");
  auto options = std::make_shared<ModelsOptions>();
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::Status done = List(*options, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

void AddDelete(CLI::App& models, Command& command) {
  CLI::App* verb = models.add_subcommand(
      "delete", "Remove a stored model; its probes keep their results");
  auto options = std::make_shared<ModelsOptions>();
  verb->add_option("SHA256", options->model,
                   "The model's SHA-256 or its beginning")
      ->required()
      ->type_name("");
  AddOutputFlag(*verb, options->output);
  AddDaemonFlags(*verb, options->daemon);
  verb->callback([&command, options] {
    command = [options](Console& console) -> int {
      const absl::Status done = Delete(*options, console);
      return done.ok() ? kExitDone : console.Fail(done);
    };
  });
}

}  // namespace

void AddModelsVerb(CLI::App& app, Command& command) {
  CLI::App* verb =
      app.add_subcommand("models", "Upload, list and delete models");
  verb->require_subcommand(1);
  AddUpload(*verb, command);
  AddList(*verb, command);
  AddDelete(*verb, command);
}

}  // namespace memplan
