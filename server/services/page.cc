#include "server/services/page.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

constexpr size_t kDefaultPageSize = 100;
constexpr int32_t kMaxPageSize = 1000;

int64_t Micros(std::chrono::system_clock::time_point time) {
  return std::chrono::floor<std::chrono::microseconds>(time)
      .time_since_epoch()
      .count();
}

// `MICROS.ID`.
std::optional<PageKey> ParseToken(const std::string& token) {
  const size_t dot = token.find('.');
  int64_t micros = 0;
  if (dot == std::string::npos ||
      !absl::SimpleAtoi(token.substr(0, dot), &micros)) {
    return std::nullopt;
  }
  return PageKey{.id = token.substr(dot + 1),
                 .create_time = std::chrono::system_clock::time_point(
                     std::chrono::microseconds(micros))};
}

absl::Status Invalid(const std::string& message, const char* field) {
  return WithReason(absl::InvalidArgumentError(message), "INVALID_REQUEST",
                    field);
}

}  // namespace

std::string PageToken(const PageKey& last) {
  return absl::StrCat(Micros(last.create_time), ".", last.id);
}

absl::StatusOr<Page> FindPage(int32_t page_size, const std::string& page_token,
                              const std::vector<PageKey>& keys) {
  if (page_size < 0 || page_size > kMaxPageSize) {
    return Invalid(
        absl::StrCat("a page has 1 to ", kMaxPageSize, " items (0 means ",
                     kDefaultPageSize, "), not ", page_size),
        "page_size");
  }
  Page page{.begin = 0,
            .size = page_size == 0 ? kDefaultPageSize
                                   : static_cast<size_t>(page_size)};
  if (page_token.empty()) return page;
  const std::optional<PageKey> last = ParseToken(page_token);
  if (!last) {
    return Invalid(
        "this is no token that a list gave; hand back next_page_token as it "
        "came, or leave it out for the first page",
        "page_token");
  }
  const auto same =
      std::find_if(keys.begin(), keys.end(),
                   [&last](const PageKey& key) { return key.id == last->id; });
  const auto next =
      same != keys.end()
          ? same + 1
          : std::find_if(keys.begin(), keys.end(), [&last](const PageKey& key) {
              return Micros(key.create_time) < Micros(last->create_time);
            });
  page.begin = static_cast<size_t>(next - keys.begin());
  return page;
}

}  // namespace memplan
