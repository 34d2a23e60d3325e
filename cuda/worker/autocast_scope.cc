#include "cuda/worker/autocast_scope.h"

#include <ATen/autocast_mode.h>

namespace memplan::gpu {

namespace autocast = at::autocast;

AutocastScope::AutocastScope(Autocast autocast, c10::DeviceType device)
    : is_on_(autocast != Autocast::kNone),
      device_(device),
      was_enabled_(autocast::is_autocast_enabled(device)),
      type_before_(autocast::get_autocast_dtype(device)),
      cached_before_(autocast::is_autocast_cache_enabled()) {
  if (!is_on_) return;
  autocast::set_autocast_enabled(device_, true);
  autocast::set_autocast_dtype(
      device_, autocast == Autocast::kFloat16 ? at::kHalf : at::kBFloat16);
  autocast::increment_nesting();
  autocast::set_autocast_cache_enabled(true);
}

AutocastScope::~AutocastScope() {
  if (!is_on_) return;
  if (autocast::decrement_nesting() == 0) autocast::clear_cache();
  autocast::set_autocast_enabled(device_, was_enabled_);
  autocast::set_autocast_dtype(device_, type_before_);
  autocast::set_autocast_cache_enabled(cached_before_);
}

}  // namespace memplan::gpu
