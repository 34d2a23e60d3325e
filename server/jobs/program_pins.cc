#include "server/jobs/program_pins.h"

#include <string>
#include <utility>

#include "server/base/reason.h"

namespace memplan {

absl::StatusOr<ProgramPins> PinPrograms(ModelStore& models,
                                        const ProbeSpec& spec) {
  ProgramPins pins;
  for (const auto& [sha256, field] :
       {std::pair{spec.model_sha256, "spec.model_sha256"},
        std::pair{spec.loss_model_sha256, "spec.step.loss_model_sha256"}}) {
    if (sha256.empty()) continue;
    auto pin = models.Pin(sha256);
    if (!pin.ok()) {
      return WithReason(pin.status(), ReasonOf(pin.status()), field);
    }
    pins.push_back(*std::move(pin));
  }
  return pins;
}

}  // namespace memplan
