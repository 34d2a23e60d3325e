#include "client/comeback.h"

#include <algorithm>
#include <utility>

#include "client/waiting.h"

namespace memplan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause = milliseconds(100);
constexpr milliseconds kLongestPause = std::chrono::seconds(3);

}  // namespace

Comeback::Comeback(milliseconds patience,
                   std::function<void(const absl::Status&)> on_lost,
                   std::stop_token stop)
    : patience_(patience),
      on_lost_(std::move(on_lost)),
      stop_(std::move(stop)),
      pause_(kFirstPause) {}

bool Comeback::Heard() {
  pause_ = kFirstPause;
  return std::exchange(lost_since_, std::nullopt).has_value();
}

bool Comeback::Await(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return false;
  const auto now = std::chrono::steady_clock::now();
  const bool first = !lost_since_.has_value();
  if (first) lost_since_ = now;
  const auto left =
      std::chrono::ceil<milliseconds>(*lost_since_ + patience_ - now);
  if (left.count() <= 0) return false;
  if (first && on_lost_) on_lost_(status);
  WaitUnlessStopped(std::min(pause_, left), stop_);
  pause_ = std::min(pause_ * 2, kLongestPause);
  return !stop_.stop_requested();
}

}  // namespace memplan
