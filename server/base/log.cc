#include "server/base/log.h"

#include <limits.h>
#include <poll.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

namespace memplan {
namespace {

struct ContextField {
  std::string name;
  std::string value;
};

std::vector<ContextField>& FieldsOfThisThread() {
  thread_local std::vector<ContextField> fields;
  return fields;
}

// As RFC 3339 has it, in UTC, with milliseconds.
std::string TimeText(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  (void)gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const size_t length =
      std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const auto milliseconds =
      std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch())
          .count() %
      1000;
  return std::string(text.data(), length) +
         fmt::format(".{:03}Z", milliseconds);
}

std::string_view LevelWord(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return "debug";
    case spdlog::level::info:
      return "info";
    case spdlog::level::warn:
      return "warning";
    default:
      return "error";
  }
}

class JsonFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& line) override {
    nlohmann::ordered_json object;
    object["time"] = TimeText(message.time);
    object["level"] = LevelWord(message.level);
    object["message"] =
        std::string_view(message.payload.data(), message.payload.size());
    for (const ContextField& field : FieldsOfThisThread()) {
      object[field.name] = field.value;
    }
    // A worker's words may be anything; what is not UTF-8 is replaced.
    const std::string text = object.dump(
        -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    line.append(text.data(), text.data() + text.size());
    line.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

class TextFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& line) override {
    std::string text = TimeText(message.time);
    text += " memplan-server: ";
    text += LevelWord(message.level);
    text += ": ";
    text.append(message.payload.data(), message.payload.size());
    for (const ContextField& field : FieldsOfThisThread()) {
      text += " " + field.name + "=" + field.value;
    }
    line.append(text.data(), text.data() + text.size());
    line.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>();
  }
};

// Standard error, but never waiting long for whoever reads it: a daemon does not
// stand still because its log does. What does not fit is dropped and counted.
class PatientStderr : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (dropped_ > 0 && IsWritable()) {
      const std::string text = fmt::format(
          "{{\"level\":\"warning\",\"message\":\"{} lines of the log were "
          "dropped: nobody read it\"}}\n",
          dropped_);
      if (Write(text)) dropped_ = 0;
    }
    if (!Write({line.data(), line.size()})) ++dropped_;
  }
  void flush_() override {}

 private:
  // A pipe takes as much as this without waiting once it takes anything.
  static constexpr size_t kPiece = PIPE_BUF;
  static constexpr int kPatienceMillis = 100;

  bool IsWritable() const {
    pollfd wait = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    // Once it was full, it has to be empty again by itself.
    return poll(&wait, 1, dropped_ > 0 ? 0 : kPatienceMillis) > 0;
  }

  bool Write(std::string_view text) const {
    while (!text.empty()) {
      if (!IsWritable()) return false;
      const ssize_t written =
          write(STDERR_FILENO, text.data(), std::min(text.size(), kPiece));
      if (written < 0 && errno != EINTR) return false;
      if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }

  int64_t dropped_ = 0;
};

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

std::unique_ptr<spdlog::formatter> MakeLogFormatter(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
  return std::make_unique<TextFormatter>();
}

void StartLogging(LogFormat format, LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>(
      "memplan-server", std::make_shared<PatientStderr>());
  logger->set_formatter(MakeLogFormatter(format));
  logger->set_level(ToSpdlog(level));
  spdlog::set_default_logger(std::move(logger));
}

void SetLogLevel(LogLevel level) {
  spdlog::default_logger_raw()->set_level(ToSpdlog(level));
}

LogLevel GetLogLevel() {
  switch (spdlog::default_logger_raw()->level()) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::info:
      return LogLevel::kInfo;
    case spdlog::level::warn:
      return LogLevel::kWarning;
    default:
      return LogLevel::kError;
  }
}

void Announce(std::string_view message) {
  const spdlog::string_view_t text(message.data(), message.size());
  const spdlog::details::log_msg line("memplan-server", spdlog::level::info,
                                      text);
  for (const auto& sink : spdlog::default_logger_raw()->sinks()) {
    sink->log(line);
    sink->flush();
  }
}

LogContext::LogContext(std::string_view name, std::string value)
    : LogContext({{name, std::move(value)}}) {}

LogContext::LogContext(std::initializer_list<Field> fields)
    : fields_before_(FieldsOfThisThread().size()) {
  for (const auto& [name, value] : fields) {
    FieldsOfThisThread().push_back({std::string(name), value});
  }
}

LogContext::~LogContext() { FieldsOfThisThread().resize(fields_before_); }

}  // namespace memplan
