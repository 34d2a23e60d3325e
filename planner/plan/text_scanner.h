// Reads a short text from left to right and, when it does not go on as it
// should, says so with the column and a caret below it:
//
//   column 9: expected a size
//     float32[,3]
//             ^
#ifndef MEMPLAN_PLANNER_PLAN_TEXT_SCANNER_H_
#define MEMPLAN_PLANNER_PLAN_TEXT_SCANNER_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace memplan {

// Keeps a view of the text, which must outlive it. Not thread-safe.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  bool AtEnd() const { return position_ == text_.size(); }
  size_t position() const { return position_; }
  void SkipSpaces();

  // Take what is asked for off the front; empty or false if it is not there.
  bool Take(std::string_view literal);
  std::string_view TakeDigits();
  // A letter or underscore, then letters, digits and underscores.
  std::string_view TakeName();
  // Digits, maybe a sign before, a fraction or an exponent after them. Leaves
  // the two points of a range alone.
  std::string_view TakeNumber();

  // kInvalidArgument: `what` at `position` (by default here).
  absl::Status Error(std::string_view what) const;
  absl::Status ErrorAt(size_t position, std::string_view what) const;

 private:
  std::string_view Rest() const { return text_.substr(position_); }
  std::string_view TakeLength(size_t length);

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_PLAN_TEXT_SCANNER_H_
