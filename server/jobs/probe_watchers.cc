#include "server/jobs/probe_watchers.h"

#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace memplan {

// One subscription. `calling` is held during a call, so that closing waits for
// the call that is running.
struct ProbeWatchers::Watch {
  explicit Watch(OnChange on_change) : call(std::move(on_change)) {}
  std::mutex calling;
  OnChange call;  // null once closed
};

// All subscriptions, by probe. Shared with the handles, which may outlive the
// rest.
struct ProbeWatchers::Watches {
  using ByProbe = std::multimap<std::string, std::shared_ptr<Watch>>;
  ByProbe& Of(Kind kind) { return kind == Kind::kEnd ? for_end : for_changes; }

  std::mutex mutex;
  ByProbe for_changes;
  ByProbe for_end;
  bool ended = false;
};

class ProbeWatchers::Handle : public ProbeJobs::Subscription {
 public:
  Handle(std::shared_ptr<Watches> watches, Kind kind,
         Watches::ByProbe::iterator place)
      : watches_(std::move(watches)),
        kind_(kind),
        place_(place),
        watch_(place->second) {}

  ~Handle() override {
    {
      const std::lock_guard lock(watches_->mutex);
      watches_->Of(kind_).erase(place_);
    }
    const std::lock_guard lock(watch_->calling);
    watch_->call = nullptr;
  }

 private:
  const std::shared_ptr<Watches> watches_;
  const Kind kind_;
  const Watches::ByProbe::iterator place_;  // nobody else removes it
  const std::shared_ptr<Watch> watch_;
};

// The line of calls has no bound of its own: it empties as fast as callbacks,
// which never block, can be called.
ProbeWatchers::ProbeWatchers()
    : watches_(std::make_shared<Watches>()),
      calls_(1, std::numeric_limits<size_t>::max()) {}

ProbeWatchers::~ProbeWatchers() = default;

std::unique_ptr<ProbeJobs::Subscription> ProbeWatchers::Add(
    ProbePtr now, OnChange on_change) {
  return Register(Kind::kChanges, std::move(now), true, std::move(on_change));
}

std::unique_ptr<ProbeJobs::Subscription> ProbeWatchers::AddForEnd(
    ProbePtr now, OnChange on_end) {
  const bool has_ended = HasEnded(now->state);
  // Told once, whatever comes after it.
  auto once = [on_end = std::move(on_end)](ProbePtr probe) mutable {
    if (const OnChange call = std::exchange(on_end, nullptr)) {
      call(std::move(probe));
    }
  };
  return Register(Kind::kEnd, std::move(now), has_ended, std::move(once));
}

std::unique_ptr<ProbeJobs::Subscription> ProbeWatchers::Register(
    Kind kind, ProbePtr now, bool call_now, OnChange call) {
  auto watch = std::make_shared<Watch>(std::move(call));
  const std::string id = now->id;
  const std::lock_guard lock(watches_->mutex);
  if (call_now) Call(watch, std::move(now));
  if (watches_->ended) Call(watch, nullptr);
  const auto place = watches_->Of(kind).emplace(id, std::move(watch));
  return std::make_unique<Handle>(watches_, kind, place);
}

void ProbeWatchers::Tell(const ProbePtr& probe) {
  const std::lock_guard lock(watches_->mutex);
  if (watches_->ended) return;
  for (const Kind kind : {Kind::kChanges, Kind::kEnd}) {
    if (kind == Kind::kEnd && !HasEnded(probe->state)) continue;
    const auto [first, end] = watches_->Of(kind).equal_range(probe->id);
    for (auto watch = first; watch != end; ++watch) Call(watch->second, probe);
  }
}

void ProbeWatchers::End() {
  {
    const std::lock_guard lock(watches_->mutex);
    if (watches_->ended) return;
    watches_->ended = true;
    for (const Kind kind : {Kind::kChanges, Kind::kEnd}) {
      for (const auto& [id, watch] : watches_->Of(kind)) Call(watch, nullptr);
    }
  }
  std::promise<void> all_called;
  calls_.Post([&all_called] { all_called.set_value(); });
  all_called.get_future().wait();
}

void ProbeWatchers::Call(std::shared_ptr<Watch> watch, ProbePtr probe) {
  calls_.Post([watch = std::move(watch), probe = std::move(probe)] {
    const std::lock_guard lock(watch->calling);
    if (watch->call) watch->call(probe);
  });
}

}  // namespace memplan
