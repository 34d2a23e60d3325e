// The daemon's log on standard error: one JSON object a line for machines, or
// plain text for people. What is written with spdlog goes through this; fields
// such as the probe's id come from the contexts that are open on the thread.
//
//   {"time":"…","level":"warning","message":"a worker died","probe_id":"4f…"}
#ifndef MEMPLAN_SERVER_BASE_LOG_H_
#define MEMPLAN_SERVER_BASE_LOG_H_

#include <spdlog/formatter.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace memplan {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kJson, kText };

// Sends what is logged from now on to standard error. To be called before other
// threads log.
void StartLogging(LogFormat format, LogLevel level);

// Which lines are written; those below are dropped. Thread-safe.
void SetLogLevel(LogLevel level);
LogLevel GetLogLevel();

// Adds fields to every line that this thread logs as long as it lives. To be
// destroyed in the opposite order of making, as locals are.
class LogContext {
 public:
  using Field = std::pair<std::string_view, std::string>;

  LogContext(std::string_view name, std::string value);
  LogContext(std::initializer_list<Field> fields);
  ~LogContext();
  LogContext(const LogContext&) = delete;
  LogContext& operator=(const LogContext&) = delete;

 private:
  const size_t fields_before_;
};

// Writes a line whatever the level is: that the daemon is ready, say.
void Announce(std::string_view message);

// How a line is written. Public for its test.
std::unique_ptr<spdlog::formatter> MakeLogFormatter(LogFormat format);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_LOG_H_
