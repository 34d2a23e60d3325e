// Traces worked out by hand, written short:
//
//   SmallTrace("M step0 | O 1 aten::mm | A x 100 | A y 200 | D y")
//
// A block has a name; it is asked for by the operator that began last, or by the
// one named after its size. Addresses are made up.
#ifndef MEMPLAN_TESTS_PLANNER_TRACE_SMALL_TRACE_H_
#define MEMPLAN_TESTS_PLANNER_TRACE_SMALL_TRACE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "planner/trace/trace.h"
#include "planner/trace/trace_builder.h"

namespace memplan::testing {

// Fails the test if the trace cannot be true.
inline Trace SmallTrace(const std::string& text) {
  TraceBuilder builder;
  std::map<std::string, uint64_t> addresses;
  std::string asker;
  uint64_t next_address = uint64_t{1} << 40;
  for (const absl::string_view line :
       absl::StrSplit(text, '|', absl::SkipWhitespace())) {
    const std::vector<std::string> words =
        absl::StrSplit(line, ' ', absl::SkipWhitespace());
    TraceEntry entry;
    if (words[0] == "M") {
      entry = {.kind = EventKind::kPhase, .name = words[1]};
    } else if (words[0] == "O") {
      entry = {.kind = EventKind::kOperator, .name = words[2]};
      EXPECT_TRUE(absl::SimpleAtoi(words[1], &entry.depth)) << line;
      asker = words[2];
    } else if (words[0] == "A") {
      entry = {.kind = EventKind::kAlloc, .address = next_address};
      EXPECT_TRUE(absl::SimpleAtoi(words[2], &entry.bytes)) << line;
      addresses[words[1]] = next_address;
      next_address += static_cast<uint64_t>(entry.bytes) + 512;
      entry.name = words.size() > 3 ? words[3] : asker;
    } else if (words[0] == "E") {
      entry = {.kind = EventKind::kEmptyCache};
    } else {
      entry = {.kind = EventKind::kFree, .address = addresses[words[1]]};
    }
    const absl::Status status = builder.Add(entry);
    EXPECT_TRUE(status.ok()) << status << " for " << line;
  }
  return builder.Build().value();
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_TRACE_SMALL_TRACE_H_
