#include "cuda/worker/autocast_scope.h"

#include <ATen/autocast_mode.h>

namespace memplan::gpu {

AutocastScope::AutocastScope(Autocast autocast, c10::DeviceType device)
    : is_on_(autocast != Autocast::kNone),
      device_(device),
      was_enabled_(at::autocast::is_autocast_enabled(device)),
      type_before_(at::autocast::get_autocast_dtype(device)),
      cached_before_(at::autocast::is_autocast_cache_enabled()) {
  if (!is_on_) return;
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(
      device_, autocast == Autocast::kFloat16 ? at::kHalf : at::kBFloat16);
  at::autocast::increment_nesting();
  at::autocast::set_autocast_cache_enabled(true);
}

AutocastScope::~AutocastScope() {
  if (!is_on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, type_before_);
  at::autocast::set_autocast_cache_enabled(cached_before_);
}

}  // namespace memplan::gpu
