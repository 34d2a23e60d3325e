// Text in columns: each as wide as its widest cell, two spaces apart, no spaces
// at a line's end. Numbers stand right.
#ifndef MEMPLAN_CLIENT_CLI_TABLE_H_
#define MEMPLAN_CLIENT_CLI_TABLE_H_

#include <string>
#include <vector>

namespace memplan {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

// Not thread-safe.
class Table {
 public:
  // Without titles (all empty) no head line is written.
  explicit Table(std::vector<Column> columns);

  // Missing cells are empty. Cells are made printable, and a newline in one
  // becomes a space.
  void AddRow(std::vector<std::string> cells);

  // Every line ends with a newline.
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_TABLE_H_
