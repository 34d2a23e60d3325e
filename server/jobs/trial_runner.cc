#include "server/jobs/trial_runner.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace memplan {

CancelSignal::CancelSignal()
    : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CancelSignal::~CancelSignal() {
  if (descriptor_ >= 0) (void)close(descriptor_);
}

void CancelSignal::Cancel() {
  cancelled_ = true;
  // Only a counter at its end could refuse, and then it is readable already.
  if (descriptor_ >= 0) (void)eventfd_write(descriptor_, 1);
}

}  // namespace memplan
