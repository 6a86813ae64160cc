#include "audit/canonical.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

namespace credbroker::audit {
namespace {

// UTF-16 order differs from byte order in one place: characters above U+FFFF (lead bytes F0-F4) are surrogates, which
// sort before U+E000 and up (lead bytes EE, EF).
int Rank(char c) {
  const int byte = static_cast<uint8_t>(c);
  if (byte < 0xEE) return byte;
  return byte >= 0xF0 ? byte - 2 : byte + 5;
}

void AppendUtf8(uint32_t point, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0 | point >> 6);
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
  }
  put(0x80 | (point & 0x3F));
}

// RFC 8259, strictly; every function returns false after setting `fault_`.
class Parser {
 public:
  explicit Parser(std::string_view in) : in_(in) {}

  absl::StatusOr<std::string> Run() {
    std::string out;
    out.reserve(in_.size());
    const bool ok = Value(&out, 0) && AtEnd();
    if (ok) return out;
    return base::Error(base::ErrorCode::kBadArgument, base::StrCat("not canonicalizable JSON at byte ", at_, ": ", fault_));
  }

 private:
  bool Fail(std::string_view fault) {
    fault_ = fault;
    return false;
  }
  char Peek() const { return at_ < in_.size() ? in_[at_] : '\0'; }
  void SkipSpace() {
    while (at_ < in_.size() && (in_[at_] == ' ' || in_[at_] == '\t' || in_[at_] == '\n' || in_[at_] == '\r')) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (Peek() != c || at_ >= in_.size()) return false;
    ++at_;
    return true;
  }
  bool AtEnd() {
    SkipSpace();
    return at_ == in_.size() || Fail("data after the document");
  }

  bool Value(std::string* out, int depth) {
    if (depth > kMaxCanonicalDepth) return Fail("nested too deeply");
    SkipSpace();
    switch (Peek()) {
      case '{': return Object(out, depth);
      case '[': return Array(out, depth);
      case 't': return Word("true", out);
      case 'f': return Word("false", out);
      case 'n': return Word("null", out);
      case '"': {
        std::string text;
        if (!String(&text)) return false;
        AppendJsonString(text, out);
        return true;
      }
      default: return Number(out);
    }
  }

  bool Word(std::string_view word, std::string* out) {
    if (in_.substr(at_, word.size()) != word) return Fail("unknown word");
    at_ += word.size();
    out->append(word);
    return true;
  }

  bool Array(std::string* out, int depth) {
    ++at_;
    out->push_back('[');
    if (Take(']')) return out->push_back(']'), true;
    do {
      if (!Value(out, depth + 1)) return false;
      out->push_back(',');
    } while (Take(','));
    out->back() = ']';
    return Take(']') || Fail("array is not closed");
  }

  bool Object(std::string* out, int depth) {
    ++at_;
    std::vector<std::pair<std::string, std::string>> members;
    if (!Take('}')) {
      do {
        auto& [name, value] = members.emplace_back();
        SkipSpace();
        if (Peek() != '"') return Fail("a member needs a name");
        if (!String(&name)) return false;
        if (!Take(':')) return Fail("a member needs a colon");
        if (!Value(&value, depth + 1)) return false;
      } while (Take(','));
      if (!Take('}')) return Fail("object is not closed");
    }
    return Write(&members, out);
  }

  bool Write(std::vector<std::pair<std::string, std::string>>* members, std::string* out) {
    std::sort(members->begin(), members->end(), [](const auto& a, const auto& b) { return Utf16Less(a.first, b.first); });
    out->push_back('{');
    for (std::size_t i = 0; i < members->size(); ++i) {
      const auto& [name, value] = (*members)[i];
      if (i > 0 && name == (*members)[i - 1].first) return Fail("a name is repeated");
      if (i > 0) out->push_back(',');
      AppendJsonString(name, out);
      out->push_back(':');
      out->append(value);
    }
    out->push_back('}');
    return true;
  }

  bool String(std::string* out) {
    ++at_;
    while (at_ < in_.size()) {
      const char c = in_[at_++];
      if (c == '"') return true;
      if (static_cast<uint8_t>(c) < 0x20) return Fail("control character in a string");
      if (c != '\\') {
        out->push_back(c);
      } else if (!Escape(out)) {
        return false;
      }
    }
    return Fail("string is not closed");
  }

  bool Escape(std::string* out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    const char c = Peek();
    ++at_;
    if (c != 'u') {
      const std::size_t which = c == '\0' ? std::string_view::npos : kNames.find(c);
      if (which == std::string_view::npos) return Fail("unknown escape");
      out->push_back(kValues[which]);
      return true;
    }
    uint32_t point = 0;
    if (!Hex4(&point)) return false;
    if (point >= 0xDC00 && point <= 0xDFFF) return Fail("lone surrogate");
    if (point >= 0xD800 && point <= 0xDBFF) {
      uint32_t low = 0;
      if (in_.substr(at_, 2) != "\\u") return Fail("lone surrogate");
      at_ += 2;
      if (!Hex4(&low)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return Fail("lone surrogate");
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(point, out);
    return true;
  }

  bool Hex4(uint32_t* value) {
    const std::string_view digits = in_.substr(std::min(at_, in_.size()), 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value, 16);
    if (error != std::errc{} || digits.size() != 4 || end != digits.data() + 4) return Fail("bad \\u escape");
    at_ += 4;
    return true;
  }

  bool Digits() {
    const std::size_t start = at_;
    while (Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ > start || Fail("not a value");
  }

  bool Number(std::string* out) {
    const std::size_t start = at_;
    if (Peek() == '-') ++at_;
    if (Peek() == '0') {
      ++at_;  // no digit may follow: "01" fails as data after the number
    } else if (!Digits()) {
      return false;
    }
    if (Peek() == '.' && (++at_, !Digits())) return false;
    if (Peek() == 'e' || Peek() == 'E') {
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      if (!Digits()) return false;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(in_.data() + start, in_.data() + at_, value);
    if (error != std::errc{} || end != in_.data() + at_ || !std::isfinite(value)) return Fail("number out of range");
    AppendNumber(value, out);
    return true;
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string_view fault_ = "not a value";
};

}  // namespace

bool Utf16Less(std::string_view a, std::string_view b) {
  const auto [left, right] = std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin());
  if (left == a.end() || right == b.end()) return a.size() < b.size();
  return Rank(*left) < Rank(*right);
}

absl::StatusOr<std::string> Canonicalize(std::string_view json) {
  if (json.size() > kMaxCanonicalBytes) return base::Error(base::ErrorCode::kBadArgument, "JSON text too long");
  if (!base::IsUtf8(json)) return base::Error(base::ErrorCode::kBadArgument, "JSON text is not UTF-8");
  return Parser(json).Run();
}

void AppendNumber(double number, std::string* out) {
  if (number == 0) return out->push_back('0');  // also -0
  if (number < 0) out->push_back('-');
  char buffer[40];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(number), std::chars_format::scientific).ptr;
  const char* const mark = std::find(static_cast<const char*>(buffer), end, 'e');
  std::string digits(1, buffer[0]);
  if (mark > buffer + 2) digits.append(buffer + 2, static_cast<std::size_t>(mark - buffer - 2));
  int exponent = 0;
  std::from_chars(mark + (mark[1] == '+' ? 2 : 1), end, exponent);
  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;  // ECMA-262's n; count is its k
  if (count <= point && point <= 21) {
    out->append(digits).append(static_cast<std::size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    base::StrAppend(out, std::string_view(digits).substr(0, static_cast<std::size_t>(point)), '.',
                    std::string_view(digits).substr(static_cast<std::size_t>(point)));
  } else if (-6 < point && point <= 0) {
    out->append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  } else {
    out->push_back(digits[0]);
    if (count > 1) base::StrAppend(out, '.', std::string_view(digits).substr(1));
    base::StrAppend(out, exponent < 0 ? "e-" : "e+", std::abs(exponent));
  }
}

void AppendJsonString(std::string_view text, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out->push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"': out->append("\\\""); continue;
      case '\\': out->append("\\\\"); continue;
      case '\b': out->append("\\b"); continue;
      case '\f': out->append("\\f"); continue;
      case '\n': out->append("\\n"); continue;
      case '\r': out->append("\\r"); continue;
      case '\t': out->append("\\t"); continue;
      default: break;
    }
    if (static_cast<uint8_t>(c) >= 0x20) {
      out->push_back(c);
    } else {
      base::StrAppend(out, "\\u00", kHex[static_cast<uint8_t>(c) >> 4], kHex[c & 15]);
    }
  }
  out->push_back('"');
}

}  // namespace credbroker::audit
