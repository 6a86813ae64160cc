#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>

#include "audit/canonical.h"
#include "base/text.h"

namespace credbroker::audit {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighs = 0x8080808080808080;

uint64_t ZeroBytes(uint64_t word) { return (word - kOnes) & ~word & kHighs; }

// Marks the bytes that end a run of plain string bytes: control characters, quotes, backslashes. The lowest mark is true;
// one above it may come from a borrow.
uint64_t Specials(uint64_t word) {
  const uint64_t control = (word - kOnes * 0x20) & ~word & kHighs;
  return control | ZeroBytes(word ^ kOnes * '"') | ZeroBytes(word ^ kOnes * '\\');
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Walks over a text that is canonical already, or stops at the first byte that is not: nothing is copied. The text is
// valid UTF-8. Every function returns false when the text is not canonical.
class Walker {
 public:
  enum class Verdict { kCanonical, kNot, kUndecided };

  explicit Walker(std::string_view in) : in_(in) {}

  Verdict Run() {
    const bool canonical = Object(0) && at_ == in_.size();
    if (undecided_) return Verdict::kUndecided;
    return canonical ? Verdict::kCanonical : Verdict::kNot;
  }

 private:
  char Peek() const { return at_ < in_.size() ? in_[at_] : '\0'; }
  bool Take(char c) {
    if (Peek() != c || at_ == in_.size()) return false;
    ++at_;
    return true;
  }

  bool Value(int depth) {
    if (depth > kMaxCanonicalDepth) return false;
    switch (Peek()) {
      case '{': return Object(depth);
      case '[': return Array(depth);
      case '"': return String();
      case 't': return Word("true");
      case 'f': return Word("false");
      case 'n': return Word("null");
      default: return Number();
    }
  }

  bool Word(std::string_view word) {
    if (in_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool Array(int depth) {
    ++at_;
    if (Take(']')) return true;
    do {
      if (!Value(depth + 1)) return false;
    } while (Take(','));
    return Take(']');
  }

  bool Object(int depth) {
    if (!Take('{')) return false;
    if (Take('}')) return true;
    std::string_view before;
    bool first = true;
    do {
      std::string_view name;
      if (!Name(&name) || !Take(':')) return false;
      if (!first && !Utf16Less(before, name)) return false;  // out of order, or twice
      before = name;
      first = false;
      if (!Value(depth + 1)) return false;
    } while (Take(','));
    return Take('}');
  }

  // The order of names is that of their meaning: with an escape in one the bytes do not tell it.
  bool Name(std::string_view* name) {
    const std::size_t start = at_ + 1;
    if (!String()) return false;
    *name = in_.substr(start, at_ - 1 - start);
    undecided_ = undecided_ || name->find('\\') != std::string_view::npos;
    return !undecided_;
  }

  bool String() {
    if (!Take('"')) return false;
    while (true) {
      SkipPlain();
      if (at_ == in_.size()) return false;
      const char c = in_[at_++];
      if (c == '"') return true;
      if (static_cast<uint8_t>(c) < 0x20) return false;
      if (c == '\\' && !Escape()) return false;
    }
  }

  void SkipPlain() {
    static_assert(std::endian::native == std::endian::little, "the lowest mark is the first byte");
    uint64_t word;
    for (; at_ + sizeof word <= in_.size(); at_ += sizeof word) {
      std::memcpy(&word, in_.data() + at_, sizeof word);
      const uint64_t specials = Specials(word);
      if (specials == 0) continue;
      at_ += static_cast<std::size_t>(std::countr_zero(specials)) / 8;
      return;
    }
  }

  // The shortest escape of what cannot stand for itself.
  bool Escape() {
    const char c = Peek();
    ++at_;
    if (c != 'u') return c != '\0' && std::string_view("\"\\bfnrt").find(c) != std::string_view::npos;
    const std::string_view digits = in_.substr(std::min(at_, in_.size()), 4);
    if (digits.size() != 4 || digits.substr(0, 2) != "00" || (digits[2] != '0' && digits[2] != '1')) return false;
    if (digits[2] == '0' && std::string_view("89acd").find(digits[3]) != std::string_view::npos) return false;  // \b \t \n \f \r
    at_ += 4;
    return IsDigit(digits[3]) || (digits[3] >= 'a' && digits[3] <= 'f');
  }

  bool Number() {
    constexpr std::size_t kExactDigits = 15;  // a double says each such integer exactly, and ECMAScript writes it plainly
    const std::size_t start = at_;
    if (Peek() == '-') ++at_;
    const std::size_t first = at_;
    while (IsDigit(Peek())) ++at_;
    const std::size_t digits = at_ - first;
    const bool whole = Peek() != '.' && Peek() != 'e' && Peek() != 'E';
    if (whole && digits > 0 && digits <= kExactDigits) return in_[first] != '0' || (digits == 1 && first == start);
    while (IsDigit(Peek()) || std::string_view("+-.eE").find(Peek()) != std::string_view::npos) ++at_;
    return IsShortestDouble(in_.substr(start, at_ - start));
  }

  static bool IsShortestDouble(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return false;
    std::string shortest;
    AppendNumber(value, &shortest);
    return shortest == text;
  }

  const std::string_view in_;
  std::size_t at_ = 0;
  bool undecided_ = false;
};

}  // namespace

bool IsCanonicalObject(std::string_view line) {
  if (line.size() > kMaxCanonicalBytes || !line.starts_with('{') || !base::IsUtf8(line)) return false;
  const Walker::Verdict verdict = Walker(line).Run();
  if (verdict != Walker::Verdict::kUndecided) return verdict == Walker::Verdict::kCanonical;
  const absl::StatusOr<std::string> canonical = Canonicalize(line);
  return canonical.ok() && *canonical == line;
}

}  // namespace credbroker::audit
