// What a trial's trace tells beside sizes: who asked for memory, and whether it
// depends on what the inputs hold.
#ifndef MEMPLAN_PLANNER_PLAN_ATTRIBUTION_H_
#define MEMPLAN_PLANNER_PLAN_ATTRIBUTION_H_

#include <string>
#include <vector>

#include "planner/base/bytes.h"

namespace memplan {

// One request of the allocator and where in the program it was made. Names are of
// at most 128 bytes, and empty where the trace has none.
struct AttributedRequest {
  Bytes bytes;        // as asked for; of a refused one rounded to 512
  std::string phase;  // `step0/backward`
  // The outermost operator that runs: `aten::convolution_backward`.
  std::string operator_name;
  // The one inside it that asked: `aten::cudnn_convolution`; may be the same.
  std::string innermost_name;
  friend bool operator==(const AttributedRequest&,
                         const AttributedRequest&) = default;
};

// A program whose tensors are as large as their contents have it, as those of
// nonzero, masked_select or torchvision's nms.
struct ContentsDependence {
  std::vector<std::string> operator_names;  // distinct, the first eight
  // Live at the trial's peak, of what forward asked for from the first such
  // operator on: about as much again may be asked for with other contents. A
  // measure, and no bound, since nobody ran those.
  Bytes at_peak;
  friend bool operator==(const ContentsDependence&,
                         const ContentsDependence&) = default;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_ATTRIBUTION_H_
