#include "client/cli/follow.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/cli/probe_report.h"
#include "client/cli/progress.h"
#include "client/cli/words.h"
#include "client/errors.h"

namespace memplan {
namespace {

constexpr auto kCancelPatience = std::chrono::seconds(10);
constexpr int kSignalExitBase = 128;

// Asks for a stop after a while. The destructor does not wait for it.
class StopAfter {
 public:
  explicit StopAfter(std::chrono::milliseconds delay)
      : thread_([this, delay](const std::stop_token& end) {
          std::unique_lock lock(mutex_);
          never_.wait_for(lock, end, delay, [] { return false; });
          stop_.request_stop();
        }) {}

  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::mutex mutex_;
  std::condition_variable_any never_;
  std::stop_source stop_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace

WatchObserver ObserverOn(Console& console) {
  return {.on_change =
              [&console](const v1::Probe& probe) {
                console.ShowProgress(ProbeLine(probe));
              },
          .on_lost =
              [&console](const absl::Status& status) {
                console.Say(absl::StrCat(status.message(),
                                         "\nmemplan: waiting for it"));
              },
          .on_back = [&console] { console.Say("the daemon is back"); }};
}

namespace {

absl::StatusOr<v1::Probe> CancelAndFollow(Client& client, const std::string& id,
                                          Console& console) {
  console.Say(absl::StrCat("cancelling probe ", id));
  const absl::StatusOr<v1::Probe> asked = client.CancelProbe(id);
  if (!asked.ok()) return asked;
  const StopAfter limit(kCancelPatience);
  const absl::StatusOr<v1::Probe> ended =
      client.WatchProbe(id, {}, limit.token());
  return ended.ok() ? ended : asked;
}

}  // namespace

absl::StatusOr<v1::Probe> FollowProbe(Client& client, const std::string& id,
                                      OnInterruption on_interruption,
                                      const Interruption& interruption,
                                      Console& console) {
  const absl::StatusOr<v1::Probe> ended =
      client.WatchProbe(id, ObserverOn(console), interruption.token());
  console.ClearProgress();
  if (ended.ok() || interruption.signal() == 0) return ended;
  if (on_interruption == OnInterruption::kCancelProbe) {
    return CancelAndFollow(client, id, console);
  }
  console.Say(absl::StrCat("probe ", id, " goes on; memplan cancel ", id,
                           " would end it"));
  return ended;
}

int PrintEndedProbe(const v1::Probe& probe, OutputFormat output,
                    const Interruption& interruption, Console& console) {
  if (probe.restart_count() > 0) {
    console.Say(absl::StrCat(
        "the daemon was restarted meanwhile, ",
        Counted(probe.restart_count(), "time"), "; the probe ",
        probe.begun_anew_reason().empty()
            ? "went on from its ended trials"
            : absl::StrCat("began anew: ", probe.begun_anew_reason())));
  }
  const absl::Status printed =
      PrintAnswer(console, output, probe, ProbeReport(probe));
  if (!printed.ok()) return console.Fail(printed);
  if (probe.state() == v1::PROBE_STATE_FAILED) {
    console.Fail(StatusFromProto(probe.error()));
  } else if (probe.state() != v1::PROBE_STATE_SUCCEEDED) {
    console.Say(
        absl::StrCat("probe ", probe.id(), " is ", StateWords(probe.state())));
  }
  return interruption.signal() != 0 ? kSignalExitBase + interruption.signal()
                                    : ExitCodeOfProbe(probe);
}

int FailUnlessInterrupted(const absl::Status& error,
                          const Interruption& interruption, Console& console) {
  if (interruption.signal() != 0) {
    if (!absl::IsCancelled(error)) console.Fail(error);
    return kSignalExitBase + interruption.signal();
  }
  return console.Fail(error);
}

}  // namespace memplan
