// A file descriptor that closes itself.
#ifndef MEMPLAN_SERVER_BASE_DESCRIPTOR_H_
#define MEMPLAN_SERVER_BASE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace memplan {

// Owns one descriptor, or none (−1). Not thread-safe.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { Close(); }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void Close() {
    if (number_ >= 0) (void)close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_DESCRIPTOR_H_
