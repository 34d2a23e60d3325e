#include "client/cli/yaml.h"

#include <gtest/gtest.h>

#include <string>

namespace memplan {
namespace {

std::string Yaml(const std::string& json) {
  return ToYaml(nlohmann::ordered_json::parse(json));
}

TEST(ToYamlTest, KeepsOrderAndNests) {
  EXPECT_EQ(Yaml(R"({"b": 1, "a": {"x": true, "z": null}, "c": 2.5})"),
            "b: 1\n"
            "a:\n"
            "  x: true\n"
            "  z: null\n"
            "c: 2.5\n");
}

TEST(ToYamlTest, WritesListsOfObjectsBehindTheDash) {
  EXPECT_EQ(Yaml(R"({"trials": [{"m": 1, "p": {"q": 2}}, {"m": 3}],
                     "batches": [1, 8], "nested": [[1, 2], []]})"),
            "trials:\n"
            "  - m: 1\n"
            "    p:\n"
            "      q: 2\n"
            "  - m: 3\n"
            "batches:\n"
            "  - 1\n"
            "  - 8\n"
            "nested:\n"
            "  - - 1\n"
            "    - 2\n"
            "  - []\n");
}

TEST(ToYamlTest, WritesEmptyContainersInPlace) {
  EXPECT_EQ(Yaml(R"({"a": {}, "b": []})"), "a: {}\nb: []\n");
  EXPECT_EQ(Yaml("{}"), "{}\n");
}

struct TextCase {
  std::string name;
  std::string json;
  std::string yaml;
};
class YamlTextTest : public ::testing::TestWithParam<TextCase> {};

TEST_P(YamlTextTest, StaysTheSameText) {
  EXPECT_EQ(Yaml(GetParam().json), GetParam().yaml + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Texts, YamlTextTest,
    ::testing::ValuesIn<TextCase>({
        {"AWord", R"("GPU-1a/b.c_d")", "GPU-1a/b.c_d"},
        {"ANumber", R"("8589934592")", R"("8589934592")"},
        {"ABoolean", R"("No")", R"("No")"},
        {"Nothing", R"("")", R"("")"},
        {"ALetterYamlTakesForABoolean", R"("y")", R"("y")"},
        {"ASpace", R"("out of memory")", R"("out of memory")"},
        {"AColon", R"("a: b")", R"("a: b")"},
        {"ALeadingDash", R"("-a")", R"("-a")"},
        {"QuotesAndBackslashes", R"("say \"\\\"")", R"("say \"\\\"")"},
        {"LineEnds", R"("a\nb\tc")", R"("a\nb\x09c")"},
        {"OtherAlphabets", R"("größe")", R"("größe")"},
        {"ControlCharacters", R"("\u007f\u0085\u001b")", R"("\x7f\x85\x1b")"},
        {"UnicodeLineEnds", R"("\u2028\u2029")", R"("\u2028\u2029")"},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace memplan
