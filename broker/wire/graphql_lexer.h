#pragma once

#include <string>
#include <string_view>

namespace credbroker::wire {

// The tokens of a GraphQL document, one at a time. Blanks, commas, comments and one byte order mark in front are skipped.
class GraphqlLexer {
 public:
  enum class Token { kName, kNumber, kString, kMark, kSpread, kEnd, kBad };

  GraphqlLexer(std::string_view text, std::size_t max_tokens);
  // Moves to the next token. After kEnd and kBad nothing changes any more.
  void Next();
  Token token() const { return token_; }
  // The name, the number as written, the string decoded, or the mark.
  const std::string& text() const { return value_; }

 private:
  void Skip();
  Token Read();
  Token ReadNumber();
  bool TakeDigits();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t left_;
  Token token_ = Token::kName;
  std::string value_;
};

}  // namespace credbroker::wire
