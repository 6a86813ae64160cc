#include "wire/graphql_lexer.h"

#include "wire/json_string.h"

namespace credbroker::wire {
namespace {

constexpr std::size_t kMaxName = 256;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool BeginsName(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

GraphqlLexer::GraphqlLexer(std::string_view text, std::size_t max_tokens) : text_(text), left_(max_tokens) {
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

void GraphqlLexer::Skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',') {
      ++at_;
    } else {
      return;
    }
  }
}

void GraphqlLexer::Next() {
  if (token_ == Token::kEnd || token_ == Token::kBad) return;
  value_.clear();
  Skip();
  token_ = Read();
  if (token_ != Token::kEnd && left_-- == 0) token_ = Token::kBad;
}

bool GraphqlLexer::TakeDigits() {
  const std::size_t start = at_;
  while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
  return at_ > start;
}

GraphqlLexer::Token GraphqlLexer::ReadNumber() {
  const std::size_t start = at_;
  if (text_[at_] == '-') ++at_;
  const std::size_t first = at_;
  if (!TakeDigits() || (text_[first] == '0' && at_ > first + 1)) return Token::kBad;
  if (at_ < text_.size() && text_[at_] == '.' && (++at_, !TakeDigits())) return Token::kBad;
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    if (!TakeDigits()) return Token::kBad;
  }
  // A name or a point may not follow at once.
  if (at_ < text_.size() && (BeginsName(text_[at_]) || text_[at_] == '.')) return Token::kBad;
  value_ = text_.substr(start, at_ - start);
  return Token::kNumber;
}

GraphqlLexer::Token GraphqlLexer::Read() {
  if (at_ >= text_.size()) return Token::kEnd;
  const char c = text_[at_];
  if (BeginsName(c)) {
    const std::size_t start = at_;
    while (at_ < text_.size() && (BeginsName(text_[at_]) || IsDigit(text_[at_]))) ++at_;
    if (at_ - start > kMaxName) return Token::kBad;
    value_ = text_.substr(start, at_ - start);
    return Token::kName;
  }
  if (IsDigit(c) || c == '-') return ReadNumber();
  if (c == '"') {
    // Block strings take out common indentation: a second reading that nothing needs.
    if (text_.substr(at_, 3) == "\"\"\"") return Token::kBad;
    return ReadQuoted(text_, &at_, &value_) ? Token::kString : Token::kBad;
  }
  if (text_.substr(at_, 3) == "...") {
    at_ += 3;
    return Token::kSpread;
  }
  if (std::string_view("!$&()=:@[]{|}").find(c) == std::string_view::npos) return Token::kBad;
  value_ = c;
  ++at_;
  return Token::kMark;
}

}  // namespace credbroker::wire
