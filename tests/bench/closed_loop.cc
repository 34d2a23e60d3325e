#include "tests/bench/closed_loop.h"

#include <cmath>
#include <type_traits>

namespace memplan::testing {
namespace {

constexpr double kStep = 1.02;

}  // namespace

size_t Latencies::PlaceOf(double micros) {
  const double place = std::log(std::max(micros, 1.0)) / std::log(kStep);
  return std::min(static_cast<size_t>(place), kPlaces - 1);
}

double Latencies::MillisAt(double part) const {
  const auto wanted =
      static_cast<int64_t>(std::ceil(part * static_cast<double>(total_)));
  int64_t seen = 0;
  for (size_t i = 0; i < counts_.size() && total_ > 0; ++i) {
    seen += counts_[i];
    if (seen >= wanted) {
      return std::pow(kStep, static_cast<double>(i + 1)) / 1000;
    }
  }
  return 0;
}

Figures FiguresOf(const Latencies& latencies, int64_t failed,
                  BenchClock::duration length) {
  const double seconds = std::chrono::duration<double>(length).count();
  return {.per_second = static_cast<double>(latencies.total()) / seconds,
          .p50_ms = latencies.MillisAt(0.5),
          .p99_ms = latencies.MillisAt(0.99),
          .failed = failed};
}

Figures MedianOf(const std::vector<Figures>& runs) {
  const auto median = [&runs](auto Figures::*member) {
    std::vector<std::decay_t<decltype(Figures().*member)>> values;
    for (const Figures& run : runs) values.push_back(run.*member);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  return {.per_second = median(&Figures::per_second),
          .p50_ms = median(&Figures::p50_ms),
          .p99_ms = median(&Figures::p99_ms),
          .failed = median(&Figures::failed)};
}

}  // namespace memplan::testing
