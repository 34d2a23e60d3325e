// How much headroom what was seen asks for: jobs that used more than they were
// promised, and those that ran out of memory although they had been admitted.
// Pure: a value that is told of ended jobs, and a suggestion out.
#ifndef MEMPLAN_PLANNER_ADMISSION_HEADROOM_POLICY_H_
#define MEMPLAN_PLANNER_ADMISSION_HEADROOM_POLICY_H_

#include <deque>

#include "planner/base/bytes.h"

namespace memplan {

// How one job came out.
struct Outcome {
  Bytes promised;
  Bytes peak;
  bool ran_out_of_memory = false;
};

// Not thread-safe.
class HeadroomPolicy {
 public:
  // Remembers the outcome; the oldest of more than a hundred is forgotten.
  void Learn(const Outcome& outcome);

  // What the worst of the remembered jobs lacked, rounded up to 64 MiB: its peak
  // less its promise; of one that ran out of memory at least a tenth of its
  // promise. 0 if none lacked anything.
  Bytes Suggestion() const;

 private:
  std::deque<Bytes> lacked_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_HEADROOM_POLICY_H_
