// What every family of the page keeps to, whatever it is of: the names and labels
// that cases.md and conventions.md ask for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <set>
#include <string>

#include "server/metrics/families.h"
#include "tests/server/api/sample_metrics.h"

namespace memplan::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::IsSubsetOf;
using ::testing::Not;
using ::testing::StartsWith;

std::set<std::string> LabelsOf(const prometheus::MetricFamily& family) {
  std::set<std::string> names;
  for (const auto& metric : family.metric) {
    for (const auto& label : metric.label) names.insert(label.name);
  }
  return names;
}

// Project-HAMi/HAMi#1644, HAMi-DRA#144: mebibytes, and ratios up to 100.
TEST(MetricNamesTest, HaveOnePrefixAndBaseUnits) {
  for (const auto& family : BuildFamilies(SampleMetrics())) {
    EXPECT_THAT(family.name, AllOf(StartsWith("memplan_"),
                                   Not(ContainsRegex("percent|_[kmg]i?b(_|$)|"
                                                     "_(ms|us|ns)(_|$)"))));
    const bool counts = family.type == prometheus::MetricType::Counter;
    EXPECT_EQ(family.name.ends_with("_total"), counts) << family.name;
    if (!family.name.ends_with("_ratio")) continue;
    for (const auto& metric : family.metric) {
      EXPECT_GE(metric.gauge.value, 0) << family.name;
      EXPECT_LE(metric.gauge.value, 1) << family.name;
    }
  }
}

// nebius/soperator#2923: a job's label multiplies the series of a device.
TEST(MetricNamesTest, OfADeviceHaveNoLabelButTheDevice) {
  for (const auto& family : BuildFamilies(SampleMetrics())) {
    if (!family.name.starts_with("memplan_device_") ||
        family.name.ends_with("_info")) {
      continue;
    }
    EXPECT_EQ(LabelsOf(family), std::set<std::string>{"device"}) << family.name;
  }
}

TEST(MetricNamesTest, HaveLabelsOfBoundedSetsButForProcesses) {
  const std::set<std::string> bounded = {
      "cause",   "code",   "device",  "driver_version", "kind",    "layer",
      "method",  "model",  "name",    "outcome",        "part",    "pci_bus_id",
      "purpose", "reason", "service", "state",          "verdict", "version"};
  for (const auto& family : BuildFamilies(SampleMetrics())) {
    if (family.name == "memplan_process_memory_used_bytes") continue;
    EXPECT_THAT(LabelsOf(family), IsSubsetOf(bounded)) << family.name;
  }
}

// prometheus-cpp does not escape line ends there, and promtool fails the page.
TEST(MetricNamesTest, HaveHelpOnOneLine) {
  for (const auto& family : BuildFamilies(SampleMetrics())) {
    EXPECT_THAT(family.help, AllOf(EndsWith("."), Not(ContainsRegex("[\n\\]"))))
        << family.name;
  }
}

}  // namespace
}  // namespace memplan::testing
