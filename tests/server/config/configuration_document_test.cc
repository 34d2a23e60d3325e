// docs/configuration.md against the program: no setting without its row, no row
// without its setting, and each as the program has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/program/settings.h"

namespace memplan {
namespace {

// A row of the document's table.
std::string Row(const Setting& setting) {
  const std::string value = setting.value.write();
  std::string standard = setting.default_words;
  if (standard.empty() && !value.empty())
    standard = absl::StrCat("`", value, "`");
  return absl::StrReplaceAll(
      absl::StrCat("| `", setting.name, "` | `", FlagOf(setting), "` | `",
                   VariableOf(setting), "` | ", standard, " | ",
                   setting.value.unit, " | ", setting.what, ". |"),
      {{"|  |", "| |"}});
}

TEST(ConfigurationDocumentTest, HasTheRowOfEachSettingAndNoOther) {
  ServerOptions options;
  std::vector<std::string> rows;
  for (const SettingGroup& group : Settings(options)) {
    for (const Setting& setting : group.settings) rows.push_back(Row(setting));
  }
  std::ifstream document(MEMPLAN_SOURCE_DIR "/docs/configuration.md");
  std::vector<std::string> found;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("| `")) found.push_back(line);
  }
  std::string wanted;
  for (const std::string& row : rows) absl::StrAppend(&wanted, row, "\n");
  EXPECT_EQ(found, rows) << "the table is to be\n" << wanted;
}

}  // namespace
}  // namespace memplan
