#include "planner/trace/python_optimizer.h"

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace memplan {
namespace {

using ::testing::IsEmpty;

const std::map<std::string, OptimizerAlgorithm> kAlgorithms = {
    {"sgd", OptimizerAlgorithm::kSgd},
    {"momentum", OptimizerAlgorithm::kSgdMomentum},
    {"adam", OptimizerAlgorithm::kAdam},
    {"adamw", OptimizerAlgorithm::kAdamW}};
const std::map<std::string, OptimizerLoop> kLoops = {
    {"for_loop", OptimizerLoop::kForLoop},
    {"foreach", OptimizerLoop::kForeach},
    {"fused", OptimizerLoop::kFused}};
// Those of record.py.
constexpr int64_t kSizes[] = {1200, 4000, 160, 20000};

// As a line of the recording has them: `3:1200` asked for, `-3` freed.
std::vector<std::string> Fields(
    const std::vector<OptimizerOperator>& operators) {
  std::vector<std::string> fields;
  for (const OptimizerOperator& op : operators) {
    for (const CallStep& step : op.steps) {
      fields.push_back(step.bytes > 0
                           ? absl::StrCat(step.request, ":", step.bytes)
                           : absl::StrCat("-", step.request));
    }
  }
  return fields;
}

TEST(PythonOptimizerTest, AsksForWhatPythonAskedFor) {
  std::ifstream recording(MEMPLAN_RECORDED_OPTIMIZERS);
  std::string line;
  int steps = 0;
  while (std::getline(recording, line)) {
    if (line.starts_with("#")) continue;
    std::vector<std::string> fields = absl::StrSplit(line, '\t');
    ASSERT_GE(fields.size(), 3);
    const PythonOptimizer optimizer = {kAlgorithms.at(fields[0]),
                                       kLoops.at(fields[1])};
    const size_t new_parameters = fields[2] == "0" ? std::size(kSizes) : 0;
    fields.erase(fields.begin(), fields.begin() + 3);
    EXPECT_EQ(Fields(OptimizerStep(optimizer, kSizes, new_parameters)), fields)
        << line;
    ++steps;
  }
  EXPECT_EQ(steps, 4 * 3 * 3);
}

TEST(PythonOptimizerTest, AsksForNothingWithoutParameters) {
  for (const auto& [name, algorithm] : kAlgorithms) {
    for (const auto& [loop_name, loop] : kLoops) {
      EXPECT_THAT(OptimizerStep({algorithm, loop}, {}, 0), IsEmpty());
    }
  }
}

}  // namespace
}  // namespace memplan
