#include "client/cli/admission_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/listings.h"
#include "client/cli/table.h"
#include "client/cli/words.h"

namespace memplan {
namespace {

std::string SourceWords(v1::NeedSource source) {
  switch (source) {
    case v1::NEED_SOURCE_STATED:
      return "stated";
    case v1::NEED_SOURCE_ESTIMATE:
      return "estimate";
    case v1::NEED_SOURCE_MEASURED:
      return "measured";
    case v1::NEED_SOURCE_VERIFIED:
      return "verified";
    default:
      return "not known";
  }
}

std::string ReservationStateWords(v1::ReservationState state) {
  switch (state) {
    case v1::RESERVATION_STATE_PROMISED:
      return "promised";
    case v1::RESERVATION_STATE_ADOPTED:
      return "adopted";
    case v1::RESERVATION_STATE_RELEASED:
      return "released";
    case v1::RESERVATION_STATE_EXPIRED:
      return "expired";
    case v1::RESERVATION_STATE_DEVICE_GONE:
      return "device gone";
    default:
      return absl::StrCat("unknown (", static_cast<int>(state), ")");
  }
}

std::string NeedWords(const v1::Judgement& judgement) {
  std::string words = BytesWords(judgement.need_most_bytes());
  if (judgement.need_least_bytes() != judgement.need_most_bytes()) {
    absl::StrAppend(&words, " (", BytesWords(judgement.need_least_bytes()),
                    " at least, ", BytesWords(judgement.need_expected_bytes()),
                    " expected)");
  }
  absl::StrAppend(&words, ", ", SourceWords(judgement.need_source()));
  if (!judgement.plan_id().empty()) {
    absl::StrAppend(&words, " by probe ", judgement.plan_id());
  }
  return words;
}

std::string HolderTable(const v1::Judgement& judgement) {
  Table table({{"HOLDS", Align::kRight},
               {"RESERVATION"},
               {"PID", Align::kRight},
               {"WHO"}});
  for (const v1::MemoryHolder& holder : judgement.holders()) {
    table.AddRow({BytesWords(holder.bytes()), holder.reservation_id(),
                  holder.pid() > 0 ? absl::StrCat(holder.pid()) : "",
                  holder.name()});
  }
  return table.Text();
}

std::string ProcessWords(const v1::Reservation& reservation) {
  std::string words;
  for (const v1::HeldProcess& process : reservation.processes()) {
    absl::StrAppend(&words, words.empty() ? "" : " ", process.pid());
  }
  return words;
}

std::string Notes(const v1::Reservation& reservation) {
  if (reservation.ran_out_of_memory()) return "ran out of memory";
  return reservation.over_promise() ? "over its promise" : "";
}

std::string Known(bool known, int64_t bytes) {
  return known ? BytesWords(bytes) : "-";
}

}  // namespace

ExitCode ExitCodeFor(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_FITS:
      return kExitDone;
    case v1::VERDICT_NOT_NOW:
      return kExitNotNow;
    case v1::VERDICT_NEVER:
      return kExitNever;
    default:
      return kExitUnknown;
  }
}

std::string VerdictWords(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_FITS:
      return "fits";
    case v1::VERDICT_NOT_NOW:
      return "not now";
    case v1::VERDICT_NEVER:
      return "never";
    default:
      return "unknown";
  }
}

std::string JudgementReport(const v1::Judgement& judgement) {
  Table table({{""}, {""}});
  table.AddRow({"verdict", VerdictWords(judgement.verdict())});
  if (!judgement.message().empty()) table.AddRow({"why", judgement.message()});
  if (judgement.has_retry_after()) {
    table.AddRow({"ask again in", DurationWords(judgement.retry_after())});
  }
  if (!judgement.device_id().empty()) {
    table.AddRow({"device", judgement.device_id()});
  }
  if (judgement.has_need_most_bytes()) {
    table.AddRow({"takes up to", NeedWords(judgement)});
  }
  const auto amount = [&table](const char* name, bool known, int64_t bytes) {
    if (known) table.AddRow({name, BytesWords(bytes)});
  };
  amount("available", judgement.has_available_bytes(),
         judgement.available_bytes());
  amount("total", judgement.has_total_bytes(), judgement.total_bytes());
  amount("driver reserve", judgement.has_driver_reserve_bytes(),
         judgement.driver_reserve_bytes());
  amount("used", judgement.has_used_bytes(), judgement.used_bytes());
  amount("free", judgement.has_free_bytes(), judgement.free_bytes());
  amount("unattributed", judgement.has_unattributed_bytes(),
         judgement.unattributed_bytes());
  amount("promised", true, judgement.promised_bytes());
  amount("of it unused", true, judgement.outstanding_bytes());
  amount("headroom", true, judgement.headroom_bytes());
  amount("suggested headroom", judgement.suggested_headroom_bytes() > 0,
         judgement.suggested_headroom_bytes());
  if (judgement.has_snapshot_age()) {
    table.AddRow(
        {"snapshot",
         absl::StrCat(judgement.snapshot_id(), ", ",
                      DurationWords(judgement.snapshot_age()), " old")});
  }
  std::string text = table.Text();
  if (judgement.holders_size() > 0) text += "\n" + HolderTable(judgement);
  return text;
}

std::string ReservationReport(const v1::Reservation& reservation) {
  Table table({{""}, {""}});
  table.AddRow({"reservation", reservation.id()});
  if (!reservation.token().empty()) {
    table.AddRow({"token", reservation.token()});
  }
  table.AddRow({"state", ReservationStateWords(reservation.state())});
  table.AddRow({"device", reservation.device_id()});
  table.AddRow({"promised", BytesWords(reservation.promised_bytes())});
  if (!reservation.holder().empty()) {
    table.AddRow({"holder", reservation.holder()});
  }
  if (reservation.has_expires_in()) {
    table.AddRow({"expires in", DurationWords(reservation.expires_in())});
  }
  if (reservation.processes_size() > 0) {
    table.AddRow({"processes", ProcessWords(reservation)});
  }
  if (reservation.peak_bytes() > 0) {
    table.AddRow({"peak use", BytesWords(reservation.peak_bytes())});
  }
  if (!Notes(reservation).empty()) table.AddRow({"note", Notes(reservation)});
  return table.Text();
}

std::string ReservationTable(const v1::ListReservationsResponse& reservations) {
  Table table({{"RESERVATION"},
               {"STATE"},
               {"DEVICE"},
               {"PROMISED", Align::kRight},
               {"USED", Align::kRight},
               {"PEAK", Align::kRight},
               {"PID", Align::kRight},
               {"EXPIRES IN", Align::kRight},
               {"HOLDER"},
               {"NOTE"}});
  for (const v1::Reservation& each : reservations.reservations()) {
    table.AddRow({each.id(), ReservationStateWords(each.state()),
                  each.device_id(), BytesWords(each.promised_bytes()),
                  Known(each.has_used_bytes(), each.used_bytes()),
                  Known(each.peak_bytes() > 0, each.peak_bytes()),
                  ProcessWords(each),
                  each.has_expires_in() ? DurationWords(each.expires_in()) : "",
                  each.holder(), Notes(each)});
  }
  return table.Text();
}

std::string TopReport(const v1::ListDevicesResponse& devices,
                      const v1::ListReservationsResponse& reservations) {
  struct Sums {
    int64_t promised = 0;
    int64_t outstanding = 0;
  };
  std::map<std::string, Sums> sums;
  for (const v1::Reservation& each : reservations.reservations()) {
    Sums& sum = sums[each.device_id()];
    sum.promised += each.promised_bytes();
    sum.outstanding +=
        std::max<int64_t>(each.promised_bytes() - each.used_bytes(), 0);
  }
  Table table({{"DEVICE"},
               {"NAME"},
               {"TOTAL", Align::kRight},
               {"USED", Align::kRight},
               {"UNATTRIBUTED", Align::kRight},
               {"PROMISED", Align::kRight},
               {"LEFT", Align::kRight}});
  for (const v1::Device& device : devices.devices()) {
    const Sums& sum = sums[device.id()];
    const int64_t left =
        std::max<int64_t>(device.free_bytes() - sum.outstanding, 0);
    table.AddRow(
        {device.id(), device.display_name(),
         Known(device.has_total_bytes(), device.total_bytes()),
         Known(device.has_used_bytes(), device.used_bytes()),
         Known(device.has_unattributed_bytes(), device.unattributed_bytes()),
         BytesWords(sum.promised), Known(device.has_free_bytes(), left)});
  }
  std::string text = table.Text();
  const std::string processes = ProcessTable(devices);
  if (!processes.empty()) text += "\n" + processes;
  if (reservations.reservations_size() > 0) {
    text += "\n" + ReservationTable(reservations);
  }
  return text;
}

}  // namespace memplan
