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
  std::mutex mutex;
  std::multimap<std::string, std::shared_ptr<Watch>> by_id;
  bool ended = false;
};

class ProbeWatchers::Handle : public ProbeJobs::Subscription {
 public:
  Handle(std::shared_ptr<Watches> watches, std::shared_ptr<Watch> watch,
         std::string id)
      : watches_(std::move(watches)),
        watch_(std::move(watch)),
        id_(std::move(id)) {}

  ~Handle() override {
    {
      const std::lock_guard lock(watches_->mutex);
      auto [watch, end] = watches_->by_id.equal_range(id_);
      while (watch != end && watch->second != watch_) ++watch;
      if (watch != end) watches_->by_id.erase(watch);
    }
    const std::lock_guard lock(watch_->calling);
    watch_->call = nullptr;
  }

 private:
  const std::shared_ptr<Watches> watches_;
  const std::shared_ptr<Watch> watch_;
  const std::string id_;
};

// The line of calls has no bound of its own: it empties as fast as callbacks,
// which never block, can be called.
ProbeWatchers::ProbeWatchers()
    : watches_(std::make_shared<Watches>()),
      calls_(1, std::numeric_limits<size_t>::max()) {}

ProbeWatchers::~ProbeWatchers() = default;

std::unique_ptr<ProbeJobs::Subscription> ProbeWatchers::Add(
    ProbePtr now, OnChange on_change) {
  auto watch = std::make_shared<Watch>(std::move(on_change));
  const std::string id = now->id;
  const std::lock_guard lock(watches_->mutex);
  Call(watch, std::move(now));
  if (watches_->ended) Call(watch, nullptr);
  watches_->by_id.emplace(id, watch);
  return std::make_unique<Handle>(watches_, watch, id);
}

void ProbeWatchers::Tell(const ProbePtr& probe) {
  const std::lock_guard lock(watches_->mutex);
  if (watches_->ended) return;
  const auto [first, end] = watches_->by_id.equal_range(probe->id);
  for (auto watch = first; watch != end; ++watch) Call(watch->second, probe);
}

void ProbeWatchers::End() {
  {
    const std::lock_guard lock(watches_->mutex);
    if (watches_->ended) return;
    watches_->ended = true;
    for (const auto& [id, watch] : watches_->by_id) Call(watch, nullptr);
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
