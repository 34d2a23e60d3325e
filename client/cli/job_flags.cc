#include "client/cli/job_flags.h"

#include <google/protobuf/util/time_util.h>
#include <sys/stat.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/arguments.h"
#include "client/cli/model_argument.h"
#include "client/errors.h"
#include "client/model_file.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

using google::protobuf::util::TimeUtil;

constexpr char kNeedGroup[] = "What the job takes";
constexpr char kPlaceGroup[] = "Where";
constexpr size_t kHashDigits = 64;

const Words<v1::Optimizer> kJobOptimizers = {
    {"sgd", v1::OPTIMIZER_SGD},
    {"sgd-momentum", v1::OPTIMIZER_SGD_MOMENTUM},
    {"adam", v1::OPTIMIZER_ADAM},
    {"adamw", v1::OPTIMIZER_ADAMW}};
const Words<v1::Placement> kPlacements = {{"best-fit", v1::PLACEMENT_BEST_FIT},
                                          {"spread", v1::PLACEMENT_SPREAD}};
const Words<v1::UnknownPolicy> kPolicies = {
    {"report", v1::UNKNOWN_POLICY_REPORT},
    {"not-now", v1::UNKNOWN_POLICY_NOT_NOW},
    {"by-last-known", v1::UNKNOWN_POLICY_BY_LAST_KNOWN}};

bool IsFile(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

absl::StatusOr<std::string> HashOf(const std::string& model, Client& client) {
  if (IsFile(model)) {
    MEMPLAN_ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(model));
    return file.Sha256({});
  }
  if (model.size() == kHashDigits) return model;
  MEMPLAN_ASSIGN_OR_RETURN(const v1::Model stored,
                           FindStoredModel(client, model));
  return stored.sha256();
}

void AddNeedFlags(CLI::App& verb, JobFlags& flags) {
  v1::Job& job = flags.job;
  CLI::Option* bytes = AddBytesFlag(
      verb, "--bytes", [&job](Bytes amount) { job.set_bytes(amount.count()); },
      "All that the job's process takes of the device, context included");
  CLI::Option* model =
      verb.add_option("--model", flags.model,
                      "Its model instead: a file, which is not uploaded, or "
                      "the SHA-256 (or its beginning) of a stored model")
          ->type_name("MODEL");
  bytes->group(kNeedGroup)->excludes(model);
  model->group(kNeedGroup);
  const auto of_model = [&](CLI::Option* option) {
    option->needs(model)->group(kNeedGroup);
  };
  of_model(
      verb.add_option_function<int64_t>(
              "--batch",
              [&job](int64_t batch) { job.mutable_model()->set_batch(batch); },
              "With --model: the batch it runs")
          ->type_name("N"));
  of_model(AddWordFlag<v1::Optimizer>(
      verb, "--train", kJobOptimizers,
      [&job](v1::Optimizer optimizer) {
        job.mutable_model()->set_mode(v1::MODE_TRAIN);
        job.mutable_model()->set_optimizer(optimizer);
      },
      "With --model: it trains with this optimizer"));
  of_model(verb.add_flag_callback(
      "--infer", [&job] { job.mutable_model()->set_mode(v1::MODE_INFER); },
      "With --model: it runs in inference mode"));
  of_model(verb.add_flag_callback(
      "--infer-grad",
      [&job] { job.mutable_model()->set_mode(v1::MODE_INFER_GRAD); },
      "With --model: it runs the forward with gradients recorded"));
  of_model(verb.add_option_function<std::string>(
                   "--probe",
                   [&job](const std::string& id) {
                     job.mutable_model()->set_probe_id(id);
                   },
                   "With --model: the probe to go by (default the newest)")
               ->type_name("PROBE"));
}

void AddPlaceFlags(CLI::App& verb, v1::Job& job) {
  verb.add_option_function<std::string>(
          "--device",
          [&job](const std::string& device) { job.set_device_id(device); },
          "A device's id, or a number with its numbering: nvml:0, cuda:0, "
          "minor:0, pci:0000:17:00.0 (default any GPU)")
      ->type_name("DEVICE")
      ->group(kPlaceGroup);
  AddWordFlag<v1::Placement>(
      verb, "--placement", kPlacements,
      [&job](v1::Placement placement) { job.set_placement(placement); },
      "Which GPU, if any will do: the fullest that has room, or the emptiest "
      "(default best-fit)")
      ->group(kPlaceGroup);
  AddBytesFlag(
      verb, "--headroom",
      [&job](Bytes amount) { job.set_headroom_bytes(amount.count()); },
      "What is to stay unused beside it (default as the daemon has it)")
      ->group(kPlaceGroup);
  AddTimeSpanFlag(
      verb, "--max-staleness",
      [&job](std::chrono::milliseconds span) {
        *job.mutable_max_staleness() =
            TimeUtil::MillisecondsToDuration(span.count());
      },
      "The oldest reading of the device to go by (default as the daemon has "
      "it)")
      ->group(kPlaceGroup);
  AddWordFlag<v1::UnknownPolicy>(
      verb, "--unknown", kPolicies,
      [&job](v1::UnknownPolicy policy) { job.set_unknown_policy(policy); },
      "What to say where nobody knows (default report)")
      ->group(kPlaceGroup);
}

}  // namespace

void AddJobFlags(CLI::App& verb, JobFlags& flags) {
  AddNeedFlags(verb, flags);
  AddPlaceFlags(verb, flags.job);
}

void AddReserveFlags(CLI::App& verb, ReserveFlags& flags) {
  AddJobFlags(verb, flags.job);
  v1::ReserveRequest& request = flags.request;
  AddTimeSpanFlag(
      verb, "--lifetime",
      [&request](std::chrono::milliseconds span) {
        *request.mutable_lifetime() =
            TimeUtil::MillisecondsToDuration(span.count());
      },
      "How long it lives without a process (default 1m)");
  verb.add_option_function<std::string>(
          "--holder",
          [&request](const std::string& holder) { request.set_holder(holder); },
          "Who it is for, for people")
      ->type_name("NAME");
  verb.add_option_function<std::string>(
          "--request-id",
          [&request](const std::string& id) { request.set_request_id(id); },
          "Makes a repeated call give the same reservation (default a new id)")
      ->type_name("ID");
}

absl::StatusOr<v1::Job> JobOf(const JobFlags& flags, Client& client) {
  v1::Job job = flags.job;
  if (flags.model.empty()) {
    if (job.need_case() == v1::Job::kBytes) return job;
    return UsageError(
        "say what the job takes: --bytes SIZE, or --model MODEL "
        "--batch N");
  }
  if (job.model().batch() == 0) {
    return UsageError("--model needs --batch N, the batch that the job runs");
  }
  MEMPLAN_ASSIGN_OR_RETURN(*job.mutable_model()->mutable_model_sha256(),
                           HashOf(flags.model, client));
  return job;
}

absl::StatusOr<v1::ReserveRequest> RequestOf(const ReserveFlags& flags,
                                             Client& client) {
  v1::ReserveRequest request = flags.request;
  MEMPLAN_ASSIGN_OR_RETURN(*request.mutable_job(), JobOf(flags.job, client));
  if (request.request_id().empty()) {
    std::random_device random;
    request.set_request_id(absl::StrFormat("cli-%08x%08x%08x%08x", random(),
                                           random(), random(), random()));
  }
  return request;
}

}  // namespace memplan
