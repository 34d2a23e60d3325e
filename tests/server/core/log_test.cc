#include "server/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace memplan::testing {
namespace {

using std::chrono::milliseconds;

std::string Line(LogFormat format, std::string_view message) {
  const spdlog::log_clock::time_point time(milliseconds(1'700'000'000'042));
  const spdlog::details::log_msg logged(
      time, spdlog::source_loc{}, "memplan-server", spdlog::level::warn,
      spdlog::string_view_t(message.data(), message.size()));
  spdlog::memory_buf_t line;
  MakeLogFormatter(format)->format(logged, line);
  return {line.data(), line.size()};
}

TEST(LogTest, WritesOneJsonObjectALine) {
  EXPECT_EQ(Line(LogFormat::kJson, "it is\n\"full\""),
            "{\"time\":\"2023-11-14T22:13:20.042Z\",\"level\":\"warning\","
            "\"message\":\"it is\\n\\\"full\\\"\"}\n");
}

TEST(LogTest, WritesTextForPeople) {
  EXPECT_EQ(Line(LogFormat::kText, "it is full"),
            "2023-11-14T22:13:20.042Z memplan-server: warning: it is full\n");
}

TEST(LogTest, ReplacesWhatIsNotText) {
  const auto object =
      nlohmann::json::parse(Line(LogFormat::kJson, "worker said \xff\xfe!"));
  EXPECT_EQ(object["message"], "worker said \xef\xbf\xbd\xef\xbf\xbd!");
}

TEST(LogTest, AddsTheFieldsOfOpenContextsAndForgetsThemAfter) {
  {
    const LogContext probe("probe_id", "4f2");
    const LogContext trial({{"trial", "3"}, {"batch", "16"}});
    const auto object =
        nlohmann::json::parse(Line(LogFormat::kJson, "a worker died"));
    EXPECT_EQ(object["probe_id"], "4f2");
    EXPECT_EQ(object["trial"], "3");
    EXPECT_EQ(object["batch"], "16");
    EXPECT_EQ(Line(LogFormat::kText, "gone"),
              "2023-11-14T22:13:20.042Z memplan-server: warning: gone "
              "probe_id=4f2 trial=3 batch=16\n");
  }
  EXPECT_EQ(nlohmann::json::parse(Line(LogFormat::kJson, "x")).size(), 3U);
}

TEST(LogTest, DropsWhatNobodyReadsRatherThanWait) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const int stderr_before = dup(STDERR_FILENO);
  ASSERT_GE(stderr_before, 0);
  (void)dup2(ends[1], STDERR_FILENO);
  StartLogging(LogFormat::kText, LogLevel::kInfo);
  for (int i = 0; i < 5000; ++i) spdlog::info("a line that nobody reads");
  std::string read_so_far(1 << 20, '\0');
  (void)read(ends[0], read_so_far.data(), read_so_far.size());
  spdlog::info("somebody reads again");
  const ssize_t count = read(ends[0], read_so_far.data(), read_so_far.size());
  (void)dup2(stderr_before, STDERR_FILENO);
  for (const int descriptor : {ends[0], ends[1], stderr_before}) {
    close(descriptor);
  }
  ASSERT_GT(count, 0);
  const std::string told = read_so_far.substr(0, static_cast<size_t>(count));
  EXPECT_NE(told.find("lines of the log were dropped"), std::string::npos);
  EXPECT_NE(told.find("somebody reads again"), std::string::npos);
}

}  // namespace
}  // namespace memplan::testing
