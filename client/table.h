#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace credbroker::client {

// Rows in columns for a terminal. Cells are hostile: control and invisible characters are escaped, and a cell that is
// wider than its column is cut with `..` at the end. The last column is not padded.
class Table {
 public:
  struct Column {
    std::string title;
    std::size_t max_width = 60;  // characters
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty, cells beyond the columns are dropped.
  void Add(std::vector<std::string> cells);
  std::size_t size() const { return rows_.size(); }
  // Title line and rows, each with a line break; columns as wide as their widest cell.
  std::string Text() const;
  // One row at the columns' full widths, for rows that come one by one.
  std::string RowText(const std::vector<std::string>& cells) const;
  std::string TitleText() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // escaped and cut
};

// One line for a terminal: escaped, at most `max_width` characters.
std::string Cell(std::string_view text, std::size_t max_width);

// `a, b, c`.
std::string Joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace credbroker::client
