// docs/errors.md against the sources: no reason without a row, no row without a
// reason.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace memplan {
namespace {

// Words of that shape in the sources that are no reasons.
const std::set<std::string> kNoReasons = {"CONFIGURATION_DIRECTORY",
                                          "MEMPLAN_SERVER_CONFIG",
                                          "XDG_RUNTIME_DIR", "XDG_STATE_HOME"};

std::string Text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first groups of all matches.
std::set<std::string> Matches(const std::string& text,
                              const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end;
       match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

// Every string in the server's sources that is UPPER_SNAKE_CASE.
std::set<std::string> ReasonsOfTheSources() {
  static const std::regex kReason(R"rx("([A-Z][A-Z0-9]*(_[A-Z0-9]+)+)")rx");
  std::set<std::string> reasons;
  const std::filesystem::path server(MEMPLAN_SOURCE_DIR "/server");
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(server)) {
    if (entry.path().extension() != ".cc") continue;
    reasons.merge(Matches(Text(entry.path()), kReason));
  }
  for (const std::string& word : kNoReasons) reasons.erase(word);
  return reasons;
}

TEST(ErrorsDocumentTest, HasARowForEachReasonAndNoOther) {
  const std::string document = Text(MEMPLAN_SOURCE_DIR "/docs/errors.md");
  EXPECT_EQ(Matches(document, std::regex("\n\\| `([A-Z_]+)` \\|")),
            ReasonsOfTheSources());
}

TEST(ErrorsDocumentTest, EachRowSaysWhatHappenedAndWhatToDo) {
  const std::string document = Text(MEMPLAN_SOURCE_DIR "/docs/errors.md");
  const std::regex row("\n\\| `([A-Z_]+)` \\|");
  const std::regex whole_row(
      "\n\\| `([A-Z_]+)` \\| [A-Z_, ]+ \\| [^|\n]+\\. \\| [^|\n]+\\. \\|");
  EXPECT_EQ(Matches(document, row), Matches(document, whole_row));
}

}  // namespace
}  // namespace memplan
