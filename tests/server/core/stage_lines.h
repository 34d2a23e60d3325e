// What StageClock writes into the log, read back.
#ifndef MEMPLAN_TESTS_SERVER_CORE_STAGE_LINES_H_
#define MEMPLAN_TESTS_SERVER_CORE_STAGE_LINES_H_

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace memplan::testing {

// Takes what is logged while it lives.
class StageLines {
 public:
  StageLines() : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>(
        "stages", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_level(spdlog::level::debug);
    logger->set_pattern("%v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~StageLines() { spdlog::set_default_logger(before_); }
  StageLines(const StageLines&) = delete;
  StageLines& operator=(const StageLines&) = delete;

  // Stages and their seconds, in order.
  std::vector<std::pair<std::string, double>> stages() const {
    return Read("stage `(.*)` took (.*) s");
  }
  // How many there were, by the last line, and their seconds in all.
  std::vector<std::pair<std::string, double>> sums() const {
    return Read("(.*) stages took (.*) s in all");
  }

 private:
  std::vector<std::pair<std::string, double>> Read(
      const std::string& pattern) const {
    std::vector<std::pair<std::string, double>> found;
    std::istringstream lines(text_.str());
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (!std::regex_match(line, match, std::regex(pattern))) continue;
      found.emplace_back(match[1], std::stod(match[2]));
    }
    return found;
  }

  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_STAGE_LINES_H_
