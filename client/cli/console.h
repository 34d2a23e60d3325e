// Where a command speaks: the answer goes to `out`, all talk to `err`, and one
// progress line that redraws itself stands on `err` only if that is a terminal.
#ifndef MEMPLAN_CLIENT_CLI_CONSOLE_H_
#define MEMPLAN_CLIENT_CLI_CONSOLE_H_

#include <mutex>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/errors.h"

namespace memplan {

struct ConsoleOptions {
  bool err_is_terminal = false;
  bool colour = false;  // on `err`
  int width = 80;       // of `err`, in columns
};

// Thread-safe, but for `out`. The streams must outlive it.
class Console {
 public:
  Console(std::ostream& out, std::ostream& err, ConsoleOptions options);
  // Removes the progress line.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // A console on the process's own streams. Colour if stderr is a terminal that
  // is not `dumb` and NO_COLOR is unset or empty.
  static ConsoleOptions OptionsOfProcess();

  // Where the answer goes.
  std::ostream& out() { return out_; }

  // `memplan: TEXT` on `err`.
  void Say(const std::string& text);

  // `memplan: error: …` on `err`; returns the code to exit with.
  ExitCode Fail(const absl::Status& status);

  // Puts `line` in place of the progress line, cut to the terminal's width.
  // Does nothing if `err` is not a terminal.
  void ShowProgress(std::string_view line);
  void ClearProgress() { ShowProgress(""); }
  bool shows_progress() const { return options_.err_is_terminal; }

 private:
  void Write(const std::string& text);

  std::ostream& out_;
  std::ostream& err_;
  const ConsoleOptions options_;
  std::mutex mutex_;
  std::string progress_;
};

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_CONSOLE_H_
