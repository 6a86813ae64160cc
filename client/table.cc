#include "client/table.h"

#include <algorithm>

#include "base/str.h"
#include "base/text.h"

namespace credbroker::client {
namespace {

constexpr std::size_t kMaxCellBytes = 4096;
constexpr std::string_view kGap = "  ";

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// EscapeText leaves well-formed UTF-8 only, so characters are the bytes that do not continue one.
std::size_t Width(std::string_view text) { return std::count_if(text.begin(), text.end(), StartsCharacter); }

std::string_view FirstCharacters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (at < text.size() && count > 0) {
    ++at;
    while (at < text.size() && !StartsCharacter(text[at])) ++at;
    --count;
  }
  return text.substr(0, at);
}

std::string Line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::string_view cell = i < cells.size() ? std::string_view(cells[i]) : std::string_view();
    base::StrAppend(&line, i == 0 ? std::string_view() : kGap, cell);
    line.append(widths[i] - std::min(widths[i], Width(cell)), ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  line.push_back('\n');
  return line;
}

}  // namespace

std::string Cell(std::string_view text, std::size_t max_width) {
  std::string safe = base::EscapeText(text, kMaxCellBytes);
  if (Width(safe) <= max_width) return safe;
  return base::StrCat(FirstCharacters(safe, max_width < 2 ? 0 : max_width - 2), "..");
}

std::string Joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) base::StrAppend(&out, out.empty() ? std::string_view() : separator, part);
  return out;
}

void Table::Add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) cells[i] = Cell(cells[i], columns_[i].max_width);
  rows_.push_back(std::move(cells));
}

std::string Table::Text() const {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    widths.push_back(Width(columns_[i].title));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text = Line(titles, widths);
  for (const auto& row : rows_) text += Line(row, widths);
  return text;
}

std::string Table::RowText(const std::vector<std::string>& cells) const {
  std::vector<std::size_t> widths;
  std::vector<std::string> safe;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(columns_[i].max_width);
    safe.push_back(Cell(i < cells.size() ? cells[i] : std::string(), columns_[i].max_width));
  }
  return Line(safe, widths);
}

std::string Table::TitleText() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  return RowText(titles);
}

}  // namespace credbroker::client
