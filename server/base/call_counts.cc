#include "server/base/call_counts.h"

#include <algorithm>
#include <utility>

namespace memplan {

struct CallCounts::Counts {
  explicit Counts(CallMethod named) : method(std::move(named)) {}

  const CallMethod method;
  std::atomic<int64_t> in_progress = 0;
  std::array<std::atomic<int64_t>, kCallCodes> ended_by_code{};
  std::array<std::atomic<int64_t>, kCallBucketSeconds.size() + 1> by_bucket{};
  std::atomic<int64_t> nanoseconds = 0;
};

CallCounts::CallCounts(std::vector<CallMethod> methods) {
  methods.push_back({"other", "other", false});
  for (CallMethod& method : methods) {
    places_["/" + method.service + "/" + method.method] = counts_.size();
    counts_.push_back(std::make_unique<Counts>(std::move(method)));
  }
}

CallCounts::~CallCounts() = default;

size_t CallCounts::Find(std::string_view path) const {
  const auto found = places_.find(path);
  return found != places_.end() ? found->second : counts_.size() - 1;
}

const CallMethod& CallCounts::method(size_t place) const {
  return counts_[place]->method;
}

void CallCounts::Begin(size_t place) { ++counts_[place]->in_progress; }

void CallCounts::End(size_t place, int code, std::chrono::nanoseconds took) {
  Counts& counts = *counts_[place];
  --counts.in_progress;
  constexpr int kUnknown = 2;
  ++counts.ended_by_code[code >= 0 && code < kCallCodes ? code : kUnknown];
  if (!counts.method.is_unary) return;
  const double seconds = std::chrono::duration<double>(took).count();
  const auto bucket = std::lower_bound(kCallBucketSeconds.begin(),
                                       kCallBucketSeconds.end(), seconds);
  ++counts.by_bucket[bucket - kCallBucketSeconds.begin()];
  counts.nanoseconds += took.count();
}

int64_t CallCounts::InProgress() const {
  int64_t calls = 0;
  for (const auto& counts : counts_) calls += counts->in_progress;
  return calls;
}

std::vector<MethodCalls> CallCounts::Read() const {
  std::vector<MethodCalls> read;
  for (const auto& counts : counts_) {
    MethodCalls& calls = read.emplace_back();
    calls.method = counts->method;
    calls.in_progress = counts->in_progress;
    for (int i = 0; i < kCallCodes; ++i) {
      calls.ended_by_code[i] = counts->ended_by_code[i];
    }
    for (size_t i = 0; i < calls.by_bucket.size(); ++i) {
      calls.by_bucket[i] = counts->by_bucket[i];
    }
    calls.seconds = std::chrono::duration<double>(
                        std::chrono::nanoseconds(counts->nanoseconds))
                        .count();
  }
  return read;
}

}  // namespace memplan
