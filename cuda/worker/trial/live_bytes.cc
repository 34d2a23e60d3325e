#include "cuda/worker/trial/live_bytes.h"

#include <algorithm>

namespace memplan::gpu {

Bytes RoundedToUnits(Bytes requested) {
  const int64_t unit = kBlockUnit.count();
  return Bytes((requested.count() + unit - 1) / unit * unit);
}

bool LiveBytes::Take(Bytes requested) {
  const Bytes block = RoundedToUnits(requested);
  if (cap_.has_value() && block > *cap_ - allocated_) {
    CountFailedRequest(requested);
    return false;
  }
  unmet_.reset();
  requested_ += requested;
  allocated_ += block;
  peak_requested_ = std::max(peak_requested_, requested_);
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return true;
}

void LiveBytes::CountFailedRequest(Bytes requested) {
  ++failed_requests_;
  unmet_ = requested;
}

void LiveBytes::Give(Bytes requested) {
  requested_ -= requested;
  allocated_ -= RoundedToUnits(requested);
}

void LiveBytes::ResetPeaks() {
  peak_requested_ = requested_;
  peak_allocated_ = allocated_;
}

Peaks LiveBytes::peaks() const {
  return {.requested = peak_requested_,
          .allocated = peak_allocated_,
          .active = peak_allocated_,
          .reserved = std::nullopt};
}

}  // namespace memplan::gpu
