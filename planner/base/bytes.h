// Bytes: an amount of memory as a type of its own, so that it cannot be mixed
// with a count of samples or trials. A plain signed 64-bit value: differences
// may be negative, and sums of real amounts never come near its end.
#ifndef MEMPLAN_PLANNER_BASE_BYTES_H_
#define MEMPLAN_PLANNER_BASE_BYTES_H_

#include <compare>
#include <cstdint>

namespace memplan {

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(int64_t count) : count_(count) {}

  constexpr int64_t count() const { return count_; }

  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return a += b; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return a -= b; }
  friend constexpr Bytes operator*(Bytes a, int64_t times) {
    return Bytes(a.count_ * times);
  }
  friend constexpr bool operator==(Bytes, Bytes) = default;
  friend constexpr std::strong_ordering operator<=>(Bytes a, Bytes b) {
    return a.count_ <=> b.count_;
  }

 private:
  int64_t count_ = 0;
};

constexpr Bytes KiB(int64_t n) { return Bytes(n << 10); }
constexpr Bytes MiB(int64_t n) { return Bytes(n << 20); }
constexpr Bytes GiB(int64_t n) { return Bytes(n << 30); }

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_BASE_BYTES_H_
