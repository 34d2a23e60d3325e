#include "server/convert/task_from_proto.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/convert/enums.h"
#include "server/convert/refused_spec.h"

namespace memplan {
namespace {

constexpr int kMaxProfiledBatches = 64;
constexpr int kMaxRepeat = 10;

absl::StatusOr<ProfileTask> ReadProfile(const v1::ProfileTask& proto) {
  if (proto.batches().empty() || proto.batches_size() > kMaxProfiledBatches) {
    return RefusedSpec(absl::StrCat("a profile runs 1 to ", kMaxProfiledBatches,
                                    " batches, not ", proto.batches_size()),
                       "spec.profile.batches");
  }
  ProfileTask task;
  for (int i = 0; i < proto.batches_size(); ++i) {
    MEMPLAN_RETURN_IF_ERROR(CheckBatch(
        proto.batches(i), absl::StrCat("spec.profile.batches[", i, "]")));
    task.batches.push_back(proto.batches(i));
  }
  return task;
}

absl::StatusOr<SearchOptions> ReadSearch(const v1::SearchTask& proto) {
  SearchOptions task;
  if (proto.max_batch() != 0) {
    MEMPLAN_RETURN_IF_ERROR(
        CheckBatch(proto.max_batch(), "spec.search.max_batch"));
    task.max_batch = proto.max_batch();
  }
  task.first_batch = std::min(task.first_batch, task.max_batch);
  if (proto.first_batch() != 0) {
    MEMPLAN_RETURN_IF_ERROR(
        CheckBatch(proto.first_batch(), "spec.search.first_batch"));
    task.first_batch = proto.first_batch();
  }
  if (task.first_batch > task.max_batch) {
    return RefusedSpec(absl::StrCat("the first batch, ", task.first_batch,
                                    ", is above the largest to consider, ",
                                    task.max_batch, "; lower it or raise that"),
                       "spec.search.first_batch");
  }
  if (proto.repeat() < 0 || proto.repeat() > kMaxRepeat) {
    return RefusedSpec(absl::StrCat("the answer is run again 1 to ", kMaxRepeat,
                                    " times (0 means 1), not ", proto.repeat()),
                       "spec.search.repeat");
  }
  task.repeat = std::max(proto.repeat(), 1);
  return task;
}

int64_t LargestBatch(const ProfileTask& task) {
  return *std::max_element(task.batches.begin(), task.batches.end());
}

int64_t LargestBatch(const SearchOptions& task) { return task.max_batch; }

}  // namespace

absl::Status CheckBatch(int64_t batch, const std::string& field) {
  if (batch >= 1 && batch <= kMaxDimension) return absl::OkStatus();
  return RefusedSpec(absl::StrCat("a batch is 1 to ", kMaxDimension,
                                  " (2^31) samples, not ", batch),
                     field);
}

absl::StatusOr<std::variant<ProfileTask, SearchOptions>> TaskFromProto(
    const v1::ProbeSpec& proto) {
  switch (proto.task_case()) {
    case v1::ProbeSpec::kProfile:
      return ReadProfile(proto.profile());
    case v1::ProbeSpec::kSearch:
      return ReadSearch(proto.search());
    case v1::ProbeSpec::TASK_NOT_SET:
      break;
  }
  return RefusedSpec(
      "a task is needed: `profile` with batches, or `search` for the largest "
      "safe batch",
      "spec.task");
}

absl::StatusOr<SearchMethod> MethodFromProto(const v1::ProbeSpec& proto) {
  if (!proto.has_search()) return SearchMethod::kAuto;
  const auto method = FromProto(proto.search().method());
  if (!method) {
    return RefusedSpec(
        absl::StrCat("no method has the number ", proto.search().method(),
                     "; it is AUTO, PREDICT or BISECT"),
        "spec.search.method");
  }
  if (*method == SearchMethod::kPredict && proto.device_id() == "cpu") {
    return RefusedSpec(
        "on cpu nothing is predicted, since there the allocator has no "
        "segments; use the method AUTO or BISECT, or a GPU",
        "spec.search.method");
  }
  return *method;
}

absl::Status CheckShapes(const ProbeSpec& spec) {
  int64_t largest = std::visit(
      [](const auto& task) { return LargestBatch(task); }, spec.task);
  largest = std::max(largest, spec.step.evaluation_batch);
  for (const int64_t batch : spec.step.also_batches) {
    largest = std::max(largest, batch);
  }
  const auto check = [&](const std::vector<InputSpec>& specs,
                         const std::string& field) {
    for (size_t i = 0; i < specs.size(); ++i) {
      const auto shape = InputShape(specs[i], largest, spec.dimensions);
      if (!shape.ok()) {
        return RefusedSpec(std::string(shape.status().message()),
                           absl::StrCat(field, "[", i, "]"));
      }
    }
    return absl::OkStatus();
  };
  MEMPLAN_RETURN_IF_ERROR(check(spec.inputs, "spec.inputs"));
  return check(spec.step.targets, "spec.step.targets");
}

}  // namespace memplan
