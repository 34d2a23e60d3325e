// Stores in memory: they remember every save, and fail when told to.
#ifndef MEMPLAN_TESTS_SERVER_CORE_FAKE_STORES_H_
#define MEMPLAN_TESTS_SERVER_CORE_FAKE_STORES_H_

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "server/store/model_store.h"
#include "server/store/probe_store.h"

namespace memplan::testing {

// Thread-safe.
class FakeProbeStore : public ProbeStore {
 public:
  absl::StatusOr<std::vector<Probe>> LoadAll() override {
    const std::lock_guard lock(mutex_);
    return probes_;
  }
  absl::Status Save(const Probe& probe) override {
    const std::lock_guard lock(mutex_);
    if (failing_states_.contains(probe.state)) {
      return failing_states_.at(probe.state);
    }
    history_.push_back(probe);
    const auto known =
        std::find_if(probes_.begin(), probes_.end(),
                     [&](const Probe& other) { return other.id == probe.id; });
    Probe kept = probe;
    kept.progress.reset();
    kept.queue_position = 0;
    if (known != probes_.end()) {
      *known = std::move(kept);
    } else {
      probes_.push_back(std::move(kept));
    }
    return absl::OkStatus();
  }
  absl::Status Delete(std::string_view id) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(probes_, [id](const Probe& probe) { return probe.id == id; });
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> TracePath(std::string_view id,
                                        int number) override {
    return absl::StrCat("/traces/", std::string(id), "/", number);
  }

  // From now on no probe in this state can be saved.
  void FailFor(ProbeState state) {
    const std::lock_guard lock(mutex_);
    failing_states_[state] =
        WithReason(absl::ResourceExhaustedError("disk full"), "STORE_FULL");
  }
  // What is on disk of the probe; a probe without an id if there is nothing.
  Probe Kept(std::string_view id) const {
    const std::lock_guard lock(mutex_);
    for (const Probe& probe : probes_) {
      if (probe.id == id) return probe;
    }
    return {};
  }
  // True if exactly this version was ever saved.
  bool WasSaved(std::string_view id, int64_t version) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(history_.begin(), history_.end(),
                       [&](const Probe& probe) {
                         return probe.id == id && probe.version == version;
                       });
  }
  void Put(Probe probe) {
    const std::lock_guard lock(mutex_);
    probes_.push_back(std::move(probe));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Probe> probes_;
  std::vector<Probe> history_;
  std::map<ProbeState, absl::Status> failing_states_;
};

// Has the models it is made with. Thread-safe.
class FakeModelStore : public ModelStore {
 public:
  explicit FakeModelStore(std::vector<std::string> models) {
    for (std::string& model : models) pins_[std::move(model)] = 0;
  }

  std::vector<Model> List() const override { return {}; }
  absl::StatusOr<Model> Get(std::string_view sha256) const override {
    return absl::NotFoundError(std::string(sha256));
  }
  std::string Path(std::string_view sha256) const override {
    return absl::StrCat("/models/", std::string(sha256));
  }
  absl::StatusOr<std::unique_ptr<ModelPin>> Pin(
      std::string_view sha256) override {
    const std::lock_guard lock(mutex_);
    const auto found = pins_.find(sha256);
    if (found == pins_.end()) {
      return WithReason(absl::NotFoundError("no such model"),
                        "MODEL_NOT_FOUND");
    }
    ++found->second;
    return std::make_unique<FakePin>(*this, found->first);
  }
  absl::StatusOr<std::unique_ptr<ModelUpload>> BeginUpload(
      std::string, int64_t, std::string) override {
    return absl::UnimplementedError("not in this fake");
  }
  absl::Status Delete(std::string_view) override {
    return absl::UnimplementedError("not in this fake");
  }
  void Sweep() override {}
  StoreUse Use() const override { return {}; }

  int PinsOf(const std::string& sha256) const {
    const std::lock_guard lock(mutex_);
    return pins_.at(sha256);
  }

 private:
  class FakePin : public ModelPin {
   public:
    FakePin(FakeModelStore& store, std::string sha256)
        : store_(store), sha256_(std::move(sha256)) {}
    ~FakePin() override {
      const std::lock_guard lock(store_.mutex_);
      --store_.pins_.at(sha256_);
    }

   private:
    FakeModelStore& store_;
    const std::string sha256_;
  };

  mutable std::mutex mutex_;
  std::map<std::string, int, std::less<>> pins_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_FAKE_STORES_H_
