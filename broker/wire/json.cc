#include "wire/json.h"

#include <algorithm>

#include "base/error.h"
#include "wire/json_string.h"

// value  := object | array | string | number | true | false | null
namespace credbroker::wire {
namespace {

using base::ErrorCode;
using Kind = JsonValue::Kind;

class Reader {
 public:
  Reader(std::string_view text, const JsonLimits& limits, std::vector<JsonValue>* out) : text_(text), limits_(limits), out_(out) {}

  bool Run() {
    if (text_.size() > limits_.max_bytes || !Value({}, 0)) return false;
    SkipSpace();
    return at_ == text_.size();
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }

  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool Emit(const std::string& path, Kind kind, std::string text = {}) {
    if (out_->size() >= limits_.max_values || path.size() > limits_.max_path_bytes) return false;
    out_->push_back({path, kind, std::move(text)});
    return true;
  }

  bool String(std::string* out) {
    SkipSpace();
    return ReadQuoted(text_, &at_, out);
  }

  bool Value(const std::string& path, int depth) {
    SkipSpace();
    if (at_ >= text_.size() || depth > limits_.max_depth) return false;
    switch (text_[at_]) {
      case '{': return Object(path, depth);
      case '[': return Array(path, depth);
      case '"': {
        std::string text;
        return String(&text) && Emit(path, Kind::kString, std::move(text));
      }
      case 't': return TakeWord("true") && Emit(path, Kind::kTrue);
      case 'f': return TakeWord("false") && Emit(path, Kind::kFalse);
      case 'n': return TakeWord("null") && Emit(path, Kind::kNull);
      default: return Number(path);
    }
  }

  bool Object(const std::string& path, int depth) {
    if (!Take('{') || !Emit(path, Kind::kObject)) return false;
    if (Take('}')) return true;
    std::vector<std::string> names;
    do {
      std::string name;
      if (!String(&name) || name.empty() || name == "*" || name.find('/') != std::string::npos || !Take(':')) return false;
      if (!Value(path.empty() ? name : path + "/" + name, depth + 1)) return false;
      names.push_back(std::move(name));
    } while (Take(','));
    std::sort(names.begin(), names.end());
    return std::adjacent_find(names.begin(), names.end()) == names.end() && Take('}');
  }

  bool Array(const std::string& path, int depth) {
    if (!Take('[') || !Emit(path, Kind::kArray)) return false;
    if (Take(']')) return true;
    const std::string inner = path.empty() ? "*" : path + "/*";
    do {
      if (!Value(inner, depth + 1)) return false;
    } while (Take(','));
    return Take(']');
  }

  bool Digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > start;
  }

  bool Number(const std::string& path) {
    const std::size_t start = at_;
    if (text_[at_] == '-') ++at_;
    const std::size_t first = at_;
    if (!Digits() || (text_[first] == '0' && at_ > first + 1)) return false;
    if (at_ < text_.size() && text_[at_] == '.' && (++at_, !Digits())) return false;
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!Digits()) return false;
    }
    return Emit(path, Kind::kNumber, std::string(text_.substr(start, at_ - start)));
  }

  std::string_view text_;
  const JsonLimits& limits_;
  std::vector<JsonValue>* out_;
  std::size_t at_ = 0;
};

}  // namespace

absl::Status ReadJson(std::string_view text, const JsonLimits& limits, std::vector<JsonValue>* out) {
  if (!Reader(text, limits, out).Run()) return base::Error(ErrorCode::kBodyUndecided, "JSON");
  return absl::OkStatus();
}

}  // namespace credbroker::wire
