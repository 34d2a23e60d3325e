#include "server/base/log.h"

#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>

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

}  // namespace
}  // namespace memplan::testing
