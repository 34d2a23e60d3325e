#include "client/cli/console.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/cli/table.h"
#include "client/cli/text_width.h"

namespace memplan {
namespace {

class ConsoleTest : public ::testing::Test {
 protected:
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ConsoleTest, TalksOnStandardErrorAlone) {
  Console console(out_, err_, {});
  console.Say("hello");
  EXPECT_EQ(console.Fail(absl::NotFoundError("gone")), kExitError);
  EXPECT_EQ(err_.str(), "memplan: hello\nmemplan: error: gone\n");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ConsoleTest, DrawsNoProgressIfStandardErrorIsNoTerminal) {
  Console console(out_, err_, {.err_is_terminal = false});
  console.ShowProgress("trial 1");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ConsoleTest, RedrawsTheProgressLineBelowWhatIsSaid) {
  Console console(out_, err_, {.err_is_terminal = true, .width = 80});
  console.ShowProgress("trial 1");
  console.Say("hello");
  console.ClearProgress();
  EXPECT_EQ(err_.str(),
            "\r\x1b[Ktrial 1"
            "\r\x1b[Kmemplan: hello\ntrial 1"
            "\r\x1b[K");
}

TEST_F(ConsoleTest, CutsTheProgressLineToTheTerminal) {
  Console console(out_, err_, {.err_is_terminal = true, .width = 6});
  console.ShowProgress("größer");
  EXPECT_EQ(err_.str(), "\r\x1b[Kgröße");
}

TEST_F(ConsoleTest, ColoursOnlyIfAskedTo) {
  Console console(out_, err_, {.err_is_terminal = true, .colour = true});
  console.Fail(absl::NotFoundError("gone"));
  EXPECT_EQ(err_.str(), "memplan: \x1b[31merror:\x1b[0m gone\n");
}

TEST(TextWidthTest, CountsCharacters) {
  EXPECT_EQ(TextWidth("größe"), 5);
  EXPECT_EQ(CutToWidth("größe", 3), "grö");
  EXPECT_EQ(CutToWidth("abc", 9), "abc");
}

TEST(TableTest, AlignsColumns) {
  Table table({{"NAME", Align::kLeft}, {"SIZE", Align::kRight}, {"NOTE"}});
  table.AddRow({"größe", "1 B", "x"});
  table.AddRow({"b", "100 MiB"});
  EXPECT_EQ(table.Text(),
            "NAME      SIZE  NOTE\n"
            "größe      1 B  x\n"
            "b      100 MiB\n");
}

TEST(TableTest, KeepsACellOnItsLine) {
  Table table({{""}, {""}});
  table.AddRow({"a\nb", "\x1b[31mred"});
  EXPECT_EQ(table.Text(), "a b  [31mred\n");
}

}  // namespace
}  // namespace memplan
