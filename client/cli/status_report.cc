#include "client/cli/status_report.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/table.h"
#include "client/cli/words.h"
#include "client/errors.h"

namespace memplan {
namespace {

std::string ServerStateWords(v1::ServerState state) {
  switch (state) {
    case v1::SERVER_STATE_SERVING:
      return "serving";
    case v1::SERVER_STATE_DRAINING:
      return "draining: new work is refused";
    default:
      return absl::StrCat("state ", static_cast<int>(state));
  }
}

std::string LayerStateWords(v1::SandboxLayerState state) {
  switch (state) {
    case v1::SANDBOX_LAYER_STATE_IN_FORCE:
      return "in force";
    case v1::SANDBOX_LAYER_STATE_MISSING:
      return "missing";
    case v1::SANDBOX_LAYER_STATE_OFF:
      return "off";
    default:
      return absl::StrCat("state ", static_cast<int>(state));
  }
}

std::string LimitAmount(const v1::LimitStatus& limit, int64_t amount) {
  return absl::EndsWith(limit.name(), "_bytes") ? BytesWords(amount)
                                                : absl::StrCat(amount);
}

}  // namespace

std::string StatusReport(const v1::ServerStatus& status) {
  std::string text =
      absl::StrCat("memplan-server ", status.version(), ", process ",
                   status.pid(), ", ", ServerStateWords(status.state()),
                   "; started ", TimeWords(status.start_time()), "\nstore   ",
                   PrintableText(status.store_path()), "\nworker  ",
                   PrintableText(status.worker_path()), "\n");
  Table parts({{"PART"}, {"STATE"}, {"DETAIL"}});
  for (const v1::PartStatus& part : status.parts()) {
    parts.AddRow(
        {part.name(), part.healthy() ? "healthy" : "FAILING", part.detail()});
  }
  absl::StrAppend(&text, "\n", parts.Text());
  Table limits({{"LIMIT"}, {"USED", Align::kRight}, {"MOST", Align::kRight}});
  for (const v1::LimitStatus& limit : status.limits()) {
    limits.AddRow({limit.name(), LimitAmount(limit, limit.used()),
                   limit.has_most() ? LimitAmount(limit, limit.most()) : "-"});
  }
  absl::StrAppend(&text, "\n", limits.Text());
  if (status.sandbox().empty()) return text;
  Table layers({{"SANDBOX"}, {"STATE"}, {"DETAIL"}});
  for (const v1::SandboxLayer& layer : status.sandbox()) {
    layers.AddRow(
        {layer.name(), LayerStateWords(layer.state()), layer.detail()});
  }
  absl::StrAppend(&text, "\n", layers.Text());
  return text;
}

bool IsHealthy(const v1::ServerStatus& status) {
  return status.state() == v1::SERVER_STATE_SERVING &&
         std::all_of(status.parts().begin(), status.parts().end(),
                     [](const v1::PartStatus& part) { return part.healthy(); });
}

}  // namespace memplan
