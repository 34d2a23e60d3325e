// The text of allocator settings, cut into words and the signs , : [ ] that
// stand between them; white space is dropped, even inside of words.
#ifndef MEMPLAN_PLANNER_ALLOCATOR_SETTINGS_TOKENS_H_
#define MEMPLAN_PLANNER_ALLOCATOR_SETTINGS_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace memplan {

// Walks over the tokens of one text. Each Read… takes one token. Errors are
// kInvalidArgument and name the setting `of` which something was wanted.
class SettingsTokens {
 public:
  explicit SettingsTokens(std::string_view text);

  bool AtEnd() const { return next_ == tokens_.size(); }
  bool NextIs(std::string_view token) const {
    return !AtEnd() && tokens_[next_] == token;
  }
  // Passes over the next token, whatever it is, if there is one.
  void Skip() {
    if (!AtEnd()) ++next_;
  }
  void Rewind() { next_ = 0; }

  absl::StatusOr<std::string> ReadWord(std::string_view of);
  // The number that the token begins with. A minus sign counts down from 2^64.
  absl::StatusOr<uint64_t> ReadNumber(std::string_view of);
  absl::StatusOr<double> ReadReal(std::string_view of);
  // Exactly True or False.
  absl::StatusOr<bool> ReadBoolean(std::string_view of);

 private:
  std::vector<std::string> tokens_;
  size_t next_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ALLOCATOR_SETTINGS_TOKENS_H_
