#include "client/cli/process_start.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace memplan {

int64_t StartTicksOf(int64_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  // The name, in brackets, may have spaces and brackets of its own; the state
  // after it is field 3.
  const size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(end_of_name + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  int64_t ticks = 0;
  fields >> ticks;
  return fields ? ticks : 0;
}

}  // namespace memplan
