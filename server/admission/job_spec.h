// What admission is asked and what it answers, as values. The words of
// proto/memplan/v1/admission_service.proto, which says what each field means.
#ifndef MEMPLAN_SERVER_ADMISSION_JOB_SPEC_H_
#define MEMPLAN_SERVER_ADMISSION_JOB_SPEC_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "planner/admission/account.h"
#include "planner/admission/check.h"
#include "planner/admission/need.h"
#include "planner/admission/placement.h"
#include "planner/admission/reservation.h"
#include "planner/admission/verdict.h"
#include "planner/base/bytes.h"
#include "server/admission/plan_needs.h"
#include "server/devices/device_snapshot.h"

namespace memplan {

struct JobSpec {
  std::variant<Bytes, ModelNeed> need = Bytes(0);
  std::string device = {};  // as the caller named it; empty: any GPU
  Placement placement = Placement::kBestFit;
  std::optional<Bytes> headroom = {};
  std::optional<absl::Duration> max_age = {};
  UnknownPolicy unknown = UnknownPolicy::kReport;
};

struct ReserveSpec {
  JobSpec job = {};
  absl::Duration lifetime = absl::Minutes(1);
  std::string holder = {};
  std::string request_id = {};
};

struct MemoryHolder {
  Bytes bytes;
  std::string reservation_id;  // empty: a process that has none
  int64_t pid = 0;             // 0: a reservation without a process
  std::string name;
};

// A judgement with its evidence.
struct Answer {
  Judgement judgement;
  // The snapshot that `device` is of; both null if no device was judged.
  std::shared_ptr<const DeviceSnapshot> snapshot = nullptr;
  const Device* device = nullptr;
  PromiseSums sums = {};
  std::optional<absl::Duration> age = {};
  Bytes headroom = {};
  Bytes suggested_headroom = {};
  std::optional<Need> need = {};
  std::vector<MemoryHolder> holders = {};  // the largest first
};

struct Admitted {
  Answer answer;
  std::optional<Reservation> reservation = {};
};

// `GPU-a has 3.00 GiB available; the job takes up to 12.0 GiB: …`. Empty if it
// fits.
std::string WordsOf(const Answer& answer);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_JOB_SPEC_H_
