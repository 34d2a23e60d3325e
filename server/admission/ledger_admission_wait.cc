// Those who wait for memory: their places in line, their patience, and who is
// served when something has become free.
#include <algorithm>
#include <utility>

#include "server/admission/ledger_admission.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

// How long the place of one whose call ended is kept.
constexpr absl::Duration kKeptPlace = absl::Seconds(30);
constexpr size_t kMostKeptPlaces = 10'000;

// Whether waiting may turn this into a yes.
bool MayPass(const Judgement& judgement) {
  if (judgement.verdict == Verdict::kNever) return false;
  switch (judgement.reason) {
    case VerdictReason::kNoPlan:
    case VerdictReason::kPlanAmbiguous:
    case VerdictReason::kBatchNotMeasured:
      return false;
    default:
      return true;
  }
}

absl::Status EndedByShutdown() {
  return WithReason(
      absl::UnavailableError("the daemon is shutting down and holds no memory "
                             "for new jobs; try again once it is back"),
      "SHUTTING_DOWN");
}

}  // namespace

absl::Duration LedgerAdmission::SinceWhen(const ReserveSpec& spec) {
  const absl::Duration now = parts_.now();
  if (spec.request_id.empty()) return now;
  const auto kept = returning_.find(spec.request_id);
  if (kept == returning_.end()) return now;
  const auto [since, left] = kept->second;
  returning_.erase(kept);
  return now - left > kKeptPlace ? now : since;
}

int64_t LedgerAdmission::Wait(const ReserveSpec& spec,
                              std::chrono::milliseconds patience,
                              AdmittedCallback done) {
  std::unique_lock lock(mutex_);
  const int64_t number = ++last_number_;
  const auto answer_now = [&](absl::StatusOr<Admitted> answer) {
    lock.unlock();
    if (answer.ok()) Count(answer->answer.judgement);
    done(std::move(answer));
    return number;
  };
  auto before = MadeBefore(spec);
  if (!before.ok()) return answer_now(before.status());
  if (*before) {
    AnswerAgain(**std::move(before), spec, std::move(done));
    return number;
  }
  if (absl::Status room = CheckRoomForOne(); !room.ok()) {
    return answer_now(std::move(room));
  }
  const absl::Duration since = SinceWhen(spec);
  const auto candidates = Candidates(spec.job.device);
  if (!candidates.ok()) return answer_now(candidates.status());
  std::vector<std::string> devices;
  for (const Standing& each : *candidates) devices.push_back(each.device->id);
  const Ticket ticket = line_.Add(since, std::move(devices));
  auto answer = JudgeJob(spec.job, &ticket);
  if (answer.ok() && answer->judgement.verdict == Verdict::kFits) {
    line_.Remove(ticket);
    Count(answer->judgement);
    Grant(spec, *std::move(answer), std::move(done));
    return number;
  }
  if (!answer.ok() || !MayPass(answer->judgement) || patience.count() <= 0) {
    LeaveLine(ticket, answer.ok() && MayPass(answer->judgement));
    if (!answer.ok()) return answer_now(answer.status());
    return answer_now(Admitted{.answer = *std::move(answer)});
  }
  Waiter& waiter = waiters_[ticket];
  waiter.number = number;
  waiter.spec = spec;
  waiter.done = std::move(done);
  waiter.timer = timers_.Set(std::chrono::steady_clock::now() + patience,
                             [this, ticket] { OnPatienceOver(ticket); });
  return number;
}

void LedgerAdmission::LeaveLine(const Ticket& ticket, bool comes_back) {
  line_.Remove(ticket);
  const auto waiter = waiters_.find(ticket);
  if (waiter == waiters_.end()) return;
  const std::string& request_id = waiter->second.spec.request_id;
  if (comes_back && !request_id.empty()) {
    if (returning_.size() >= kMostKeptPlaces) returning_.clear();
    returning_[request_id] = {ticket.first, parts_.now()};
  }
  waiters_.erase(waiter);
}

void LedgerAdmission::CancelWait(int64_t number) {
  AdmittedCallback dropped;
  std::optional<Timers::Id> timer;
  {
    const std::lock_guard lock(mutex_);
    const auto waiter = std::find_if(
        waiters_.begin(), waiters_.end(),
        [number](const auto& each) { return each.second.number == number; });
    if (waiter == waiters_.end()) return;
    dropped = std::move(waiter->second.done);
    timer = waiter->second.timer;
    const Ticket ticket = waiter->first;
    LeaveLine(ticket, true);
  }
  timers_.Cancel(*timer);
}

void LedgerAdmission::OnPatienceOver(const Ticket& ticket) {
  AdmittedCallback done;
  absl::StatusOr<Answer> answer;
  {
    const std::lock_guard lock(mutex_);
    const auto waiter = waiters_.find(ticket);
    if (waiter == waiters_.end()) return;
    answer = JudgeJob(waiter->second.spec.job, &ticket);
    done = std::move(waiter->second.done);
    if (answer.ok() && answer->judgement.verdict == Verdict::kFits) {
      const ReserveSpec spec = waiter->second.spec;
      LeaveLine(ticket, false);
      Count(answer->judgement);
      GrantOnce(spec, *std::move(answer), std::move(done));
      return;
    }
    LeaveLine(ticket, true);
  }
  if (!answer.ok()) return done(answer.status());
  Count(answer->judgement);
  done(Admitted{.answer = *std::move(answer)});
}

void LedgerAdmission::GrantOnce(const ReserveSpec& spec, Answer answer,
                                AdmittedCallback done) {
  auto before = MadeBefore(spec);
  if (before.ok() && *before) {
    AnswerAgain(**std::move(before), spec, std::move(done));
  } else {
    Grant(spec, std::move(answer), std::move(done));
  }
}

// In their order; one that gets nothing lets those behind it try, unless it has
// waited so long that its device is held for it.
void LedgerAdmission::ServeWaiters(Calls& calls) {
  for (const Ticket& ticket : line_.InOrder()) {
    const auto waiter = waiters_.find(ticket);
    if (waiter == waiters_.end()) continue;
    absl::StatusOr<Answer> answer = JudgeJob(waiter->second.spec.job, &ticket);
    const bool fits =
        answer.ok() && answer->judgement.verdict == Verdict::kFits;
    if (!fits && answer.ok() && MayPass(answer->judgement)) continue;
    AdmittedCallback done = std::move(waiter->second.done);
    // Never waits: the call it would wait for wants our mutex.
    calls.emplace_back(
        [this, timer = waiter->second.timer] { timers_.Cancel(timer); });
    const ReserveSpec spec = waiter->second.spec;
    LeaveLine(ticket, false);
    if (answer.ok()) Count(answer->judgement);
    if (fits) {
      GrantOnce(spec, *std::move(answer), std::move(done));
    } else {
      calls.emplace_back([done = std::move(done), answer] {
        if (answer.ok()) {
          done(Admitted{.answer = *answer});
        } else {
          done(answer.status());
        }
      });
    }
  }
}

void LedgerAdmission::Drain() {
  std::vector<AdmittedCallback> dropped;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    for (auto& [ticket, waiter] : waiters_) {
      dropped.push_back(std::move(waiter.done));
      line_.Remove(ticket);
    }
    waiters_.clear();
  }
  for (const AdmittedCallback& done : dropped) done(EndedByShutdown());
}

void LedgerAdmission::Stop() {
  Drain();
  ticker_ = nullptr;
  timers_.Stop();
}

}  // namespace memplan
