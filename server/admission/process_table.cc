#include "server/admission/process_table.h"

#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace memplan {
namespace {

// Places in the line after the name's closing bracket; proc(5) counts from 1 and
// the name is its field 2.
constexpr size_t kState = 0;
constexpr size_t kParent = 1;
constexpr size_t kStartTicks = 19;
constexpr size_t kResidentPages = 21;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

}  // namespace

std::optional<ProcessEntry> ParseProcessStat(std::string_view line) {
  // A name may have brackets and spaces of its own.
  const size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(end_of_name + 1);
  const std::vector<std::string> fields =
      absl::StrSplit(absl::string_view(rest.data(), rest.size()),
                     absl::ByAnyChar(" \n"), absl::SkipEmpty());
  if (fields.size() <= kResidentPages) return std::nullopt;
  if (fields[kState] == "Z" || fields[kState] == "X") return std::nullopt;
  ProcessEntry entry;
  int64_t pages = 0;
  if (!absl::SimpleAtoi(fields[kParent], &entry.parent) ||
      !absl::SimpleAtoi(fields[kStartTicks], &entry.start_ticks) ||
      !absl::SimpleAtoi(fields[kResidentPages], &pages)) {
    return std::nullopt;
  }
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  entry.resident = Bytes(pages * page_bytes);
  return entry;
}

SystemProcessTable::SystemProcessTable(std::string root)
    : folder_(std::move(root) + "/proc") {}

std::optional<ProcessEntry> SystemProcessTable::Find(int64_t pid) const {
  std::ifstream file(absl::StrCat(folder_, "/", pid, "/stat"));
  std::string line;
  // The name may have a newline in it.
  for (std::string part; std::getline(file, part);) line += part + " ";
  return ParseProcessStat(line);
}

std::map<int64_t, ProcessEntry> SystemProcessTable::All() const {
  std::map<int64_t, ProcessEntry> all;
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(folder_.c_str()));
  if (folder == nullptr) return all;
  while (const dirent* entry = readdir(folder.get())) {
    int64_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    if (auto found = Find(pid)) all.emplace(pid, *found);
  }
  return all;
}

}  // namespace memplan
