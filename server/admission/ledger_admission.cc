#include "server/admission/ledger_admission.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

// Saves that wait for the disk; more are refused, so that answers stay prompt.
constexpr size_t kMostWaitingSaves = 4096;
constexpr size_t kMostProcesses = 64;

// So many of the kernel's random bytes, in hexadecimal: nobody can guess it.
template <size_t kBytes>
std::string RandomText() {
  std::array<char, kBytes> bytes{};
  if (getentropy(bytes.data(), bytes.size()) != 0) {
    throw std::system_error(errno, std::generic_category(), "getentropy");
  }
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

// What was asked, in one line: equal for a call that is repeated.
std::string RequestText(const ReserveSpec& spec) {
  std::string need;
  if (const Bytes* stated = std::get_if<Bytes>(&spec.job.need)) {
    need = absl::StrCat(stated->count());
  } else {
    const auto& model = std::get<ModelNeed>(spec.job.need);
    need =
        absl::StrCat(model.model_sha256, " ", model.batch, " ",
                     model.mode ? static_cast<int>(*model.mode) : -1, " ",
                     model.optimizer ? static_cast<int>(*model.optimizer) : -1,
                     " ", model.probe_id);
  }
  return absl::StrCat(need, " on ", spec.job.device, " for ", spec.holder);
}

absl::Status NoSuchReservation(std::string_view id) {
  constexpr size_t kShownBytes = 64;
  return WithReason(
      absl::NotFoundError(absl::StrCat(
          "no reservation is called \"", std::string(id.substr(0, kShownBytes)),
          "\", or it ended long ago; `memplan reservations` shows those there "
          "are")),
      "RESERVATION_NOT_FOUND", "id");
}

absl::Status NotTheOwner() {
  return WithReason(
      absl::PermissionDeniedError(
          "this is not the token that the reservation was given with; only its "
          "owner may change it"),
      "NOT_THE_OWNER", "token");
}

absl::Status AlreadyEnded(const Reservation& reservation) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "reservation ", reservation.id, " has ended",
                        reservation.state == ReservationState::kExpired
                            ? ": its lifetime was over and no process had it"
                        : reservation.state == ReservationState::kDeviceGone
                            ? ": its device is gone"
                            : "",
                        "; reserve anew")),
                    "RESERVATION_ENDED", "id");
}

absl::Status NoSuchProcess(int64_t pid) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "the daemon sees no live process ", pid,
          " with that start time; adopt from the daemon's own host and pid "
          "namespace while the process runs")),
      "PROCESS_NOT_FOUND", "pid");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Admission>> Admission::Start(
    AdmissionRules rules, AdmissionParts parts) {
  auto admission = std::make_unique<LedgerAdmission>(rules, std::move(parts));
  MEMPLAN_RETURN_IF_ERROR(admission->Load());
  admission->StartTicking();
  return admission;
}

LedgerAdmission::LedgerAdmission(AdmissionRules rules, AdmissionParts parts)
    : rules_(rules), parts_(std::move(parts)) {}

LedgerAdmission::~LedgerAdmission() { Stop(); }

void LedgerAdmission::StartTicking() {
  if (rules_.tick.count() == 0) return;
  ticker_ = std::make_unique<Ticker>(rules_.tick, [this] { Tick(); });
}

absl::Status LedgerAdmission::CheckRoomForOne() const {
  if (draining_) {
    return WithReason(
        absl::UnavailableError("the daemon is shutting down and holds no "
                               "memory for new jobs; try again once it is "
                               "back"),
        "SHUTTING_DOWN");
  }
  const auto most = static_cast<size_t>(rules_.max_reservations);
  if (ledger_.size() + waiters_.size() >= most) {
    return WithReason(
        absl::ResourceExhaustedError(
            absl::StrCat("there are ", most,
                         " reservations and waits for one, as many as "
                         "the daemon keeps; release some, or try again later")),
        "TOO_MANY_RESERVATIONS");
  }
  if (parts_.store.waiting() >= kMostWaitingSaves) {
    return WithReason(
        absl::ResourceExhaustedError(
            "more reservations wait for the store's disk than the daemon takes "
            "at once; try again"),
        "SERVER_BUSY");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Reservation>> LedgerAdmission::MadeBefore(
    const ReserveSpec& spec) const {
  if (spec.request_id.empty()) return std::optional<Reservation>();
  const auto known = by_request_.find(spec.request_id);
  if (known == by_request_.end()) return std::optional<Reservation>();
  const Reservation* made = ledger_.Find(known->second);
  if (made == nullptr) {
    const auto ended = ended_.find(known->second);
    if (ended == ended_.end()) return std::optional<Reservation>();
    made = &ended->second;
  }
  if (made->request != RequestText(spec)) {
    return WithReason(
        absl::AlreadyExistsError(absl::StrCat(
            "the request_id made reservation ", made->id,
            " for another job; give each new request an id of its own")),
        "REQUEST_ID_REUSED", "request_id");
  }
  return std::optional<Reservation>(*made);
}

void LedgerAdmission::AnswerAgain(Reservation reservation,
                                  const ReserveSpec& spec,
                                  AdmittedCallback done) {
  JobSpec job = spec.job;
  job.device = reservation.device_id;
  absl::StatusOr<Answer> answer = JudgeJob(job, nullptr);
  // Its device may be gone: then there is no evidence any more.
  Admitted admitted = {
      .answer = answer.ok() ? *std::move(answer) : Answer{.judgement = {}},
      .reservation = std::move(reservation)};
  admitted.answer.judgement.verdict = Verdict::kFits;
  admitted.answer.judgement.reason = VerdictReason::kRoom;
  admitted.answer.judgement.retry_after.reset();
  parts_.store.WhenSaved(
      [admitted = std::move(admitted),
       done = std::move(done)](const absl::Status& saved) mutable {
        if (saved.ok()) {
          done(std::move(admitted));
        } else {
          done(saved);
        }
      });
}

void LedgerAdmission::Reserve(const ReserveSpec& spec, AdmittedCallback done) {
  absl::StatusOr<Admitted> refused;
  {
    const std::lock_guard lock(mutex_);
    auto before = MadeBefore(spec);
    if (before.ok() && *before) {
      return AnswerAgain(**std::move(before), spec, std::move(done));
    }
    absl::Status room = before.ok() ? CheckRoomForOne() : before.status();
    absl::StatusOr<Answer> answer =
        room.ok() ? JudgeJob(spec.job, nullptr) : std::move(room);
    if (answer.ok()) Count(answer->judgement);
    if (answer.ok() && answer->judgement.verdict == Verdict::kFits) {
      return Grant(spec, *std::move(answer), std::move(done));
    }
    if (answer.ok()) {
      refused = Admitted{.answer = *std::move(answer)};
    } else {
      refused = answer.status();
    }
  }
  done(std::move(refused));
}

void LedgerAdmission::Grant(const ReserveSpec& spec, Answer answer,
                            AdmittedCallback done) {
  Reservation reservation;
  reservation.id = "r-" + RandomText<8>();
  reservation.request_id = spec.request_id;
  reservation.request = RequestText(spec);
  reservation.token = RandomText<16>();
  reservation.device_id = answer.device->id;
  reservation.holder = spec.holder;
  // What fits has a need.
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access)
  reservation.need = *answer.need;
  reservation.promised = reservation.need.most;
  reservation.lifetime = spec.lifetime;
  reservation.expires_at = parts_.now() + spec.lifetime;
  reservation.create_time = absl::Now();
  if (!spec.request_id.empty()) {
    by_request_[spec.request_id] = reservation.id;
  }
  const Reservation& kept = ledger_.Add(std::move(reservation));
  answer.sums = ledger_.SumsOn(kept.device_id);
  parts_.store.Save(
      kept,
      [this,
       admitted = Admitted{.answer = std::move(answer), .reservation = kept},
       done = std::move(done)](const absl::Status& saved) mutable {
        if (saved.ok()) return done(std::move(admitted));
        AfterSave(admitted.reservation->id, saved);
        done(saved);
      });
}

// One that nobody was told of leaves nothing behind.
void LedgerAdmission::AfterSave(const std::string& id,
                                const absl::Status& saved) {
  const std::lock_guard lock(mutex_);
  if (saved.ok() || ledger_.Find(id) == nullptr) return;
  const Reservation removed =
      ledger_.Remove(id, ReservationState::kReleased, absl::Now());
  by_request_.erase(removed.request_id);
}

absl::StatusOr<const Reservation*> LedgerAdmission::Owned(
    const std::string& id, const std::string& token) const {
  const Reservation* found = ledger_.Find(id);
  if (found == nullptr) {
    const auto ended = ended_.find(id);
    if (ended == ended_.end()) return NoSuchReservation(id);
    found = &ended->second;
  }
  if (found->token.empty() || found->token != token) return NotTheOwner();
  return found;
}

void LedgerAdmission::SaveThen(const Reservation& reservation,
                               ReservationCallback done) {
  parts_.store.Save(reservation, [kept = reservation, done = std::move(done)](
                                     const absl::Status& saved) mutable {
    if (saved.ok()) {
      done(std::move(kept));
    } else {
      done(saved);
    }
  });
}

void LedgerAdmission::Renew(const std::string& id, const std::string& token,
                            absl::Duration lifetime,
                            std::optional<Bytes> promised,
                            ReservationCallback done) {
  absl::Status refused;
  {
    const std::lock_guard lock(mutex_);
    const auto owned = Owned(id, token);
    if (!owned.ok()) {
      refused = owned.status();
    } else if (HasEnded((*owned)->state)) {
      refused = AlreadyEnded(**owned);
    } else if (promised && *promised > (*owned)->promised) {
      refused = WithReason(
          absl::InvalidArgumentError(absl::StrCat(
              "the reservation holds ", FormatBytes((*owned)->promised),
              "; it may be lowered, not raised to ", FormatBytes(*promised),
              "; reserve anew for that")),
          "INVALID_ADMISSION", "promised_bytes");
    } else {
      ledger_.Renew(
          id, parts_.now(),
          lifetime > absl::ZeroDuration() ? lifetime : (*owned)->lifetime,
          promised.value_or((*owned)->promised));
      room_changed_ = room_changed_ || promised.has_value();
      return SaveThen(*ledger_.Find(id), std::move(done));
    }
  }
  done(refused);
}

void LedgerAdmission::Adopt(const std::string& id, const std::string& token,
                            HeldProcess process, ReservationCallback done) {
  const auto entry = parts_.processes.Find(process.pid);
  absl::Status refused;
  {
    const std::lock_guard lock(mutex_);
    const auto owned = Owned(id, token);
    refused =
        owned.ok() ? CheckAdoptable(**owned, process, entry) : owned.status();
    if (refused.ok() && entry) {
      ledger_.Adopt(id, {process.pid, entry->start_ticks});
      return SaveThen(*ledger_.Find(id), std::move(done));
    }
  }
  done(refused);
}

absl::Status LedgerAdmission::CheckAdoptable(
    const Reservation& reservation, const HeldProcess& process,
    const std::optional<ProcessEntry>& entry) const {
  if (HasEnded(reservation.state)) return AlreadyEnded(reservation);
  if (!entry ||
      (process.start_ticks != 0 && process.start_ticks != entry->start_ticks)) {
    return NoSuchProcess(process.pid);
  }
  if (reservation.processes.size() >= kMostProcesses) {
    return WithReason(absl::InvalidArgumentError(absl::StrCat(
                          "a reservation has at most ", kMostProcesses,
                          " processes; children of one need not be adopted")),
                      "INVALID_ADMISSION", "pid");
  }
  std::string other;
  ledger_.ForEachAdopted([&](const Reservation& each) {
    if (each.id == reservation.id || each.device_id != reservation.device_id) {
      return;
    }
    for (const HeldProcess& held : each.processes) {
      if (held.pid == process.pid && held.start_ticks == entry->start_ticks) {
        other = each.id;
      }
    }
  });
  if (other.empty()) return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "process ", process.pid, " has reservation ", other, " on ",
          reservation.device_id,
          " already; its use would count twice; release that first")),
      "PROCESS_HELD", "pid");
}

void LedgerAdmission::Release(const std::string& id, const std::string& token,
                              ReservationCallback done) {
  absl::StatusOr<Reservation> answer;
  {
    const std::lock_guard lock(mutex_);
    const auto owned = Owned(id, token);
    if (!owned.ok()) {
      answer = owned.status();
    } else if (HasEnded((*owned)->state)) {
      answer = **owned;
    } else {
      return SaveThen(End(id, ReservationState::kReleased), std::move(done));
    }
  }
  done(std::move(answer));
}

void LedgerAdmission::ReportOutcome(const std::string& id,
                                    const std::string& token,
                                    bool ran_out_of_memory,
                                    ReservationCallback done) {
  absl::StatusOr<Reservation> answer;
  {
    const std::lock_guard lock(mutex_);
    const auto owned = Owned(id, token);
    if (!owned.ok()) {
      answer = owned.status();
    } else if (!ran_out_of_memory || (*owned)->ran_out_of_memory) {
      answer = **owned;
    } else {
      ++counts_.false_admits;
      spdlog::warn(
          "a false admit: the job of reservation {} ({}) ran out of "
          "memory; it was promised {} and its peak was {}",
          id, (*owned)->holder, FormatBytes((*owned)->promised),
          FormatBytes((*owned)->peak));
      if (HasEnded((*owned)->state)) {
        Reservation& ended = ended_.at(id);
        ended.ran_out_of_memory = true;
        policy_.Learn({ended.promised, ended.peak, true});
        return SaveThen(ended, std::move(done));
      }
      ledger_.TellOutOfMemory(id);
      return SaveThen(*ledger_.Find(id), std::move(done));
    }
  }
  done(std::move(answer));
}

absl::StatusOr<Reservation> LedgerAdmission::Get(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  if (const Reservation* live = ledger_.Find(id)) return *live;
  const auto ended = ended_.find(std::string(id));
  if (ended == ended_.end()) return NoSuchReservation(id);
  return ended->second;
}

std::vector<std::pair<std::string, absl::Time>> LedgerAdmission::List(
    bool ended, const std::string& device_id) const {
  std::vector<std::pair<std::string, absl::Time>> all;
  const auto add = [&](const Reservation& reservation) {
    if (!device_id.empty() && reservation.device_id != device_id) return;
    all.emplace_back(reservation.id, reservation.create_time);
  };
  const std::lock_guard lock(mutex_);
  ledger_.ForEach(add);
  if (ended) {
    for (const auto& [id, reservation] : ended_) add(reservation);
  }
  return all;
}

absl::Duration LedgerAdmission::LeftOf(const Reservation& reservation) const {
  return std::max(reservation.expires_at - parts_.now(), absl::ZeroDuration());
}

std::variant<int64_t, std::string> LedgerAdmission::Hold(
    const Device& reading, Bytes least, bool all, const std::string& holder) {
  const std::lock_guard lock(mutex_);
  if (line_.IsHeld(reading.id, parts_.now())) {
    return absl::StrCat(reading.id,
                        " is held for a job that has waited for memory");
  }
  const DeviceAccount account = {.device = &reading,
                                 .sums = ledger_.SumsOn(reading.id),
                                 .age = absl::ZeroDuration()};
  const std::optional<Bytes> available = AvailableOn(account, Bytes(0));
  if (available && *available < least) {
    return absl::StrCat(reading.id, " has ", FormatBytes(*available),
                        " left beside ", FormatBytes(account.sums.outstanding),
                        " that are promised to reservations; needed are ",
                        FormatBytes(least));
  }
  Reservation reservation;
  const int64_t hold = ++last_number_;
  reservation.id = absl::StrCat("p-", hold);
  reservation.device_id = reading.id;
  reservation.holder = holder;
  reservation.promised = all ? available.value_or(least) : least;
  reservation.need = StatedNeed(reservation.promised);
  reservation.create_time = absl::Now();
  reservation.durable = false;
  reservation.state = ReservationState::kAdopted;
  const auto self = parts_.processes.Find(getpid());
  reservation.processes = {{getpid(), self ? self->start_ticks : 0}};
  ledger_.Add(std::move(reservation));
  return hold;
}

void LedgerAdmission::EndHold(int64_t hold) {
  const std::lock_guard lock(mutex_);
  const std::string id = absl::StrCat("p-", hold);
  if (ledger_.Find(id) == nullptr) return;
  ledger_.Remove(id, ReservationState::kReleased, absl::Now());
  room_changed_ = true;
}

}  // namespace memplan
