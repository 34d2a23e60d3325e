#include "client/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/environment.h"
#include "client/cli/text_width.h"

namespace memplan {
namespace {

// Back to the line's start, then erase to its end (ECMA-48 EL).
constexpr char kClearLine[] = "\r\x1b[K";
constexpr char kRed[] = "\x1b[31m";
constexpr char kPlain[] = "\x1b[0m";

}  // namespace

Console::Console(std::ostream& out, std::ostream& err, ConsoleOptions options)
    : out_(out), err_(err), options_(options) {}

Console::~Console() { ClearProgress(); }

ConsoleOptions Console::OptionsOfProcess() {
  ConsoleOptions options;
  options.err_is_terminal = isatty(STDERR_FILENO) == 1;
  options.colour = options.err_is_terminal &&
                   EnvironmentValue("NO_COLOR").empty() &&
                   EnvironmentValue("TERM") != "dumb";
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
  }
  return options;
}

void Console::Say(const std::string& text) {
  Write(absl::StrCat("memplan: ", PrintableText(text), "\n"));
}

ExitCode Console::Fail(const absl::Status& status) {
  const std::string text = ErrorText(status);
  Write(options_.colour
            ? absl::StrCat("memplan: ", kRed, "error:", kPlain, " ", text, "\n")
            : absl::StrCat("memplan: error: ", text, "\n"));
  return ExitCodeFor(status);
}

void Console::ShowProgress(std::string_view line) {
  if (!options_.err_is_terminal) return;
  std::string text = CutToWidth(line, options_.width - 1);
  const std::lock_guard lock(mutex_);
  if (text == progress_) return;
  progress_ = std::move(text);
  err_ << kClearLine << progress_ << std::flush;
}

void Console::Write(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!progress_.empty()) err_ << kClearLine;
  err_ << text << progress_ << std::flush;
}

}  // namespace memplan
