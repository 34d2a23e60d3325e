#include "cuda/worker/trial/memory_fraction.h"

#include <cmath>
#include <cstddef>

namespace memplan::gpu {

Bytes CapOfFraction(double fraction, Bytes total) {
  return Bytes(static_cast<int64_t>(
      static_cast<size_t>(fraction * static_cast<double>(total.count()))));
}

double FractionForCap(Bytes cap, Bytes total) {
  // The quotient is off by at most half a unit in the last place, so that a few
  // steps to its neighbours end at the cap.
  double fraction =
      static_cast<double>(cap.count()) / static_cast<double>(total.count());
  while (CapOfFraction(fraction, total) < cap) {
    fraction = std::nextafter(fraction, 1.0);
  }
  while (CapOfFraction(fraction, total) > cap) {
    fraction = std::nextafter(fraction, 0.0);
  }
  return fraction;
}

}  // namespace memplan::gpu
