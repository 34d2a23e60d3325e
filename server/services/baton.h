// What a call's reactor holds passes from thread to thread through gRPC, one at a
// time. gRPC's own locks order that, but a thread sanitizer does not see them in a
// library that was built without it; a baton says it in our own code, for one
// atomic operation at each end.
#ifndef MEMPLAN_SERVER_SERVICES_BATON_H_
#define MEMPLAN_SERVER_SERVICES_BATON_H_

#include <atomic>
#include <cstdint>

namespace memplan {

// All that a thread did before Pass is seen by the thread that Takes later.
class Baton {
 public:
  void Pass() { passes_.fetch_add(1, std::memory_order_release); }
  void Take() const { (void)passes_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> passes_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_BATON_H_
