#include "client/cli/listings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cli/table.h"
#include "client/cli/words.h"
#include "client/errors.h"

namespace memplan {
namespace {

// `-` for what the driver does not give.
std::string Amount(bool known, int64_t bytes) {
  return known ? BytesWords(bytes) : "-";
}

// When it was stored; how far it has come while it is uploaded.
std::string StoredWords(const v1::Model& model) {
  if (model.state() != v1::MODEL_STATE_UPLOADING) {
    return TimeWords(model.create_time());
  }
  const int64_t percent =
      model.size_bytes() > 0
          ? static_cast<int64_t>(100.0 *
                                 static_cast<double>(model.committed_bytes()) /
                                 static_cast<double>(model.size_bytes()))
          : 0;
  return absl::StrCat("uploading, ", BytesWords(model.committed_bytes()), " (",
                      percent, " %)");
}

}  // namespace

std::string ProcessTable(const v1::ListDevicesResponse& devices) {
  Table table({{"DEVICE"},
               {"PID", Align::kRight},
               {"USED", Align::kRight},
               {"PROCESS"}});
  bool is_empty = true;
  for (const v1::Device& device : devices.devices()) {
    for (const v1::DeviceProcess& process : device.processes()) {
      is_empty = false;
      table.AddRow({device.id(), absl::StrCat(process.pid()),
                    Amount(process.has_used_bytes(), process.used_bytes()),
                    process.name()});
    }
  }
  return is_empty ? "" : table.Text();
}

std::string DeviceTable(const v1::ListDevicesResponse& devices) {
  Table table({{"DEVICE"},
               {"NAME"},
               {"TOTAL", Align::kRight},
               {"DRIVER RESERVE", Align::kRight},
               {"USED", Align::kRight},
               {"FREE", Align::kRight},
               {"UNATTRIBUTED", Align::kRight}});
  std::string notes;
  for (const v1::Device& device : devices.devices()) {
    table.AddRow(
        {device.id(), device.display_name(),
         Amount(device.has_total_bytes(), device.total_bytes()),
         Amount(device.has_driver_reserve_bytes(),
                device.driver_reserve_bytes()),
         Amount(device.has_used_bytes(), device.used_bytes()),
         Amount(device.has_free_bytes(), device.free_bytes()),
         Amount(device.has_unattributed_bytes(), device.unattributed_bytes())});
    if (!device.read_error().empty()) {
      absl::StrAppend(&notes, device.id(), " could not be read: ",
                      PrintableText(device.read_error()), "\n");
    }
  }
  std::string text = table.Text() + notes;
  const std::string processes = ProcessTable(devices);
  if (!processes.empty()) text += "\n" + processes;
  return text;
}

std::string ModelTable(const v1::ListModelsResponse& models) {
  Table table({{"MODEL"}, {"NAME"}, {"SIZE", Align::kRight}, {"STORED"}});
  for (const v1::Model& model : models.models()) {
    table.AddRow({ShortHash(model.sha256()), model.display_name(),
                  BytesWords(model.size_bytes()), StoredWords(model)});
  }
  return table.Text();
}

std::string ProbeTable(const v1::ListProbesResponse& probes) {
  Table table({{"PROBE"},
               {"STATE"},
               {"TASK"},
               {"BATCH", Align::kRight},
               {"MODE"},
               {"MODEL"},
               {"DEVICE"},
               {"CREATED"}});
  for (const v1::Probe& probe : probes.probes()) {
    table.AddRow({probe.id(), StateWords(probe.state()),
                  probe.spec().has_search() ? "search" : "profile",
                  AnswerWords(probe), ModeWords(probe.spec()),
                  ShortHash(probe.spec().model_sha256()),
                  probe.spec().device_id(), TimeWords(probe.create_time())});
  }
  return table.Text();
}

std::string AnswerWords(const v1::Probe& probe) {
  if (!probe.has_plan()) return "";
  switch (probe.plan().verdict()) {
    case v1::PLAN_VERDICT_FOUND:
      return absl::StrCat(probe.plan().safe_batch());
    case v1::PLAN_VERDICT_FIXED_BATCH:
      return absl::StrCat(probe.plan().safe_batch(), " (fixed)");
    case v1::PLAN_VERDICT_DOES_NOT_FIT:
      return "none";
    default:
      return "?";
  }
}

}  // namespace memplan
