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
// valid UTF-8. Every step takes where it begins and gives where it ends, or null when the text is not canonical: a place
// that is passed on stays in a register.
class Walker {
 public:
  enum class Verdict { kCanonical, kNot, kUndecided };

  explicit Walker(std::string_view in) : begin_(in.data()), end_(in.data() + in.size()) {}

  Verdict Run() {
    const bool canonical = Object(begin_, 0) == end_;
    if (undecided_) return Verdict::kUndecided;
    return canonical ? Verdict::kCanonical : Verdict::kNot;
  }

 private:
  // Zero at the end; a zero byte is canonical nowhere.
  char Peek(const char* at) const { return at != end_ ? *at : '\0'; }

  const char* Value(const char* at, int depth) {
    if (depth > kMaxCanonicalDepth) return nullptr;
    switch (Peek(at)) {
      case '{': return Object(at, depth);
      case '[': return Array(at, depth);
      case '"': return String(at);
      case 't': return Word(at, "true");
      case 'f': return Word(at, "false");
      case 'n': return Word(at, "null");
      default: return Number(at);
    }
  }

  const char* Word(const char* at, std::string_view word) const {
    return std::string_view(at, end_).starts_with(word) ? at + word.size() : nullptr;
  }

  const char* Array(const char* at, int depth) {
    ++at;
    if (Peek(at) == ']') return at + 1;
    while ((at = Value(at, depth + 1)) != nullptr) {
      const char next = Peek(at++);
      if (next == ']') return at;
      if (next != ',') return nullptr;
    }
    return nullptr;
  }

  const char* Object(const char* at, int depth) {
    if (Peek(at++) != '{') return nullptr;
    if (Peek(at) == '}') return at + 1;
    std::string_view before;
    for (bool first = true;; first = false) {
      const char* const name_end = Name(at);
      if (name_end == nullptr || Peek(name_end) != ':') return nullptr;
      const std::string_view name(at + 1, name_end - 1);
      if (!first && !Utf16Less(before, name)) return nullptr;  // out of order, or twice
      before = name;
      at = Value(name_end + 1, depth + 1);
      if (at == nullptr) return nullptr;
      const char next = Peek(at++);
      if (next == '}') return at;
      if (next != ',') return nullptr;
    }
  }

  // The order of names is that of their meaning: with an escape in one the bytes do not tell it.
  const char* Name(const char* at) {
    if (Peek(at) != '"') return nullptr;
    const char* const quote = SkipPlain(at + 1);
    undecided_ = undecided_ || Peek(quote) == '\\';
    return Peek(quote) == '"' ? quote + 1 : nullptr;
  }

  const char* String(const char* at) const {
    for (++at;;) {
      at = SkipPlain(at);
      const char c = Peek(at);
      if (c == '"') return at + 1;
      if (c != '\\') return nullptr;  // a control character, or the end
      at = Escape(at + 1);
      if (at == nullptr) return nullptr;
    }
  }

  // To the first byte that is special, or to the end.
  const char* SkipPlain(const char* at) const {
    static_assert(std::endian::native == std::endian::little, "the lowest mark is the first byte");
    uint64_t word;
    for (; static_cast<std::size_t>(end_ - at) >= sizeof word; at += sizeof word) {
      std::memcpy(&word, at, sizeof word);
      if (const uint64_t specials = Specials(word); specials != 0) return at + std::countr_zero(specials) / 8;
    }
    while (at != end_ && static_cast<uint8_t>(*at) >= 0x20 && *at != '"' && *at != '\\') ++at;
    return at;
  }

  // The shortest escape of what cannot stand for itself.
  const char* Escape(const char* at) const {
    const char c = Peek(at++);
    if (c != 'u') return c != '\0' && std::string_view("\"\\bfnrt").find(c) != std::string_view::npos ? at : nullptr;
    if (end_ - at < 4 || at[0] != '0' || at[1] != '0' || (at[2] != '0' && at[2] != '1')) return nullptr;
    if (at[2] == '0' && std::string_view("89acd").find(at[3]) != std::string_view::npos) return nullptr;  // \b \t \n \f \r
    return IsDigit(at[3]) || (at[3] >= 'a' && at[3] <= 'f') ? at + 4 : nullptr;
  }

  const char* Number(const char* const start) const {
    constexpr std::ptrdiff_t kExactDigits = 15;  // a double says each such integer exactly, and ECMAScript writes it plainly
    const char* at = start;
    if (Peek(at) == '-') ++at;
    const char* const first = at;
    while (IsDigit(Peek(at))) ++at;
    const std::ptrdiff_t digits = at - first;
    const bool whole = Peek(at) != '.' && Peek(at) != 'e' && Peek(at) != 'E';
    if (whole && digits > 0 && digits <= kExactDigits) return *first != '0' || (digits == 1 && first == start) ? at : nullptr;
    while (IsDigit(Peek(at)) || (Peek(at) != '\0' && std::string_view("+-.eE").find(Peek(at)) != std::string_view::npos)) ++at;
    return IsShortestDouble({start, at}) ? at : nullptr;
  }

  static bool IsShortestDouble(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return false;
    std::string shortest;
    AppendNumber(value, &shortest);
    return shortest == text;
  }

  const char* const begin_;
  const char* const end_;
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
