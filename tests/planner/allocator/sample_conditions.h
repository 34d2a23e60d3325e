// The conditions that a recorded trace ran under.
#ifndef MEMPLAN_TESTS_PLANNER_ALLOCATOR_SAMPLE_CONDITIONS_H_
#define MEMPLAN_TESTS_PLANNER_ALLOCATOR_SAMPLE_CONDITIONS_H_

#include "gtest/gtest.h"
#include "planner/allocator/conditions.h"
#include "planner/allocator/settings.h"
#include "tests/support/recorded_traces.h"

namespace memplan::testing {

inline AllocatorConditions ConditionsOf(const RecordedTrace& recorded) {
  AllocatorConditions conditions;
  const auto settings = ParseAllocatorSettings(recorded.settings);
  EXPECT_TRUE(settings.ok()) << settings.status();
  if (settings.ok()) conditions.settings = *settings;
  if (recorded.cap_bytes.has_value()) {
    conditions.cap = Bytes(*recorded.cap_bytes);
  }
  return conditions;
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_ALLOCATOR_SAMPLE_CONDITIONS_H_
