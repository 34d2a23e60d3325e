#include "client/cli/table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "client/cli/text_width.h"
#include "client/errors.h"

namespace memplan {
namespace {

constexpr int kGap = 2;  // columns between two cells

std::string OneLine(const std::string& cell) {
  std::string text = PrintableText(cell);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string> head;
  head.reserve(columns_.size());
  for (const Column& column : columns_) head.push_back(column.title);
  const bool has_titles =
      std::any_of(head.begin(), head.end(),
                  [](const auto& title) { return !title.empty(); });
  if (has_titles) rows_.push_back(std::move(head));
}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = OneLine(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::Text() const {
  std::vector<int> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], TextWidth(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - TextWidth(row[i]), ' ');
      if (i > 0) line.append(kGap, ' ');
      line += columns_[i].align == Align::kRight ? padding + row[i]
                                                 : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace memplan
