// How a trial ended, told from what was thrown. Out of memory has no type of its
// own: TorchScript turns it into a plain runtime error, and the kernel libraries
// have words of their own for it. So it is told by evidence (end_class.h). Pure.
#ifndef MEMPLAN_CUDA_WORKER_TRIAL_ENDING_H_
#define MEMPLAN_CUDA_WORKER_TRIAL_ENDING_H_

#include <string>
#include <string_view>

#include "cuda/worker/messages/messages.h"
#include "cuda/worker/trial/end_class.h"

namespace memplan::gpu {

// Why a load or a step did not go well.
struct Failure {
  EndKind end = EndKind::kModelFailed;
  EndClass end_class = EndClass::kOther;
  std::string field;    // of ProbeSpec, for kBadRequest alone
  std::string message;  // for people, at most 1 kB
  friend bool operator==(const Failure&, const Failure&) = default;
};

// A failure that no other batch would change: `field` of ProbeSpec is wrong.
Failure BadRequest(std::string_view field, std::string_view message);

// The failure that an error with the words `what` stands for.
Failure FailureOf(std::string_view what, const Evidence& evidence);

// `what` without TorchScript's traceback and C++ frames: the operator's or the
// model's own words.
std::string OwnWords(std::string_view what);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_TRIAL_ENDING_H_
