#include "policy/reader.h"

#include <algorithm>

#include "base/duration.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"

namespace credbroker::policy {
namespace {

constexpr std::size_t kMaxProblems = 10;
constexpr std::size_t kMaxWarnings = 100;

std::string Place(const YamlNode& at) {
  return base::StrCat(base::EscapeText(at.file, 256), ":", at.line, ":", at.column, ": ");
}

std::string Quoted(std::string_view text) { return base::StrCat("`", base::EscapeText(text, 80), "`"); }

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

void Problems::Add(const YamlNode& at, std::string_view what, std::string_view hint) {
  AddText(base::StrCat(Place(at), what, hint.empty() ? "" : "; ", hint));
}

void Problems::AddText(std::string line) {
  if (errors_.size() < kMaxProblems) {
    errors_.push_back(std::move(line));
  } else {
    ++dropped_;
  }
}

void Problems::Warn(const YamlNode& at, std::string_view what) {
  if (warnings_.size() < kMaxWarnings) warnings_.push_back(base::StrCat(Place(at), what));
}

absl::Status Problems::ToStatus() const {
  if (errors_.empty()) return absl::OkStatus();
  std::string text;
  for (const std::string& error : errors_) base::StrAppend(&text, text.empty() ? "" : "\n", error);
  if (dropped_ > 0) base::StrAppend(&text, "\nand ", dropped_, " more");
  return base::Error(base::ErrorCode::kPolicyInvalid, text);
}

std::string NearestHint(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  std::size_t distance = word.size() > 64 ? 0 : std::max<std::size_t>(3, word.size() / 2 + 1);
  for (const std::string_view candidate : known) {
    if (distance == 0) break;
    const std::size_t d = EditDistance(word.substr(0, 64), candidate.substr(0, 64));
    if (d < distance && d < candidate.size()) {
      distance = d;
      best = candidate;
    }
  }
  if (!best.empty()) return base::StrCat("did you mean `", best, "`?");
  std::string all = "known:";
  for (std::size_t i = 0; i < known.size() && i < 24; ++i) base::StrAppend(&all, i == 0 ? " " : ", ", known[i]);
  return known.empty() ? "there is none" : all;
}

MapReader::MapReader(const YamlNode& node, std::string_view what, std::vector<std::string_view> keys,
                     Problems* problems)
    : node_(node), what_(what), problems_(problems) {
  if (node.kind != YamlNode::Kind::kMap) {
    problems->Add(node, base::StrCat(what, " is ", KindName(node.kind), ", not a map"));
    return;
  }
  for (const auto& [key, value] : node.members) {
    if (std::find(keys.begin(), keys.end(), key.text) != keys.end()) continue;
    problems->Add(key, base::StrCat("unknown key ", Quoted(key.text), " in ", what), NearestHint(key.text, keys));
  }
}

const YamlNode* MapReader::Find(std::string_view key) const {
  const YamlNode* value = node_.Find(key);
  return value == nullptr || value->kind == YamlNode::Kind::kNull ? nullptr : value;
}

const YamlNode* MapReader::Need(std::string_view key) const {
  const YamlNode* value = node_.Find(key);
  if (value != nullptr && value->kind != YamlNode::Kind::kNull) return value;
  if (node_.kind == YamlNode::Kind::kMap) {
    problems_->Add(value == nullptr ? node_ : *value, base::StrCat(what_, " needs `", key, "`"),
                   value == nullptr ? "" : "it is empty here");
  }
  return nullptr;
}

std::optional<std::string> MapReader::Text(std::string_view key) const {
  const YamlNode* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind == YamlNode::Kind::kScalar && value->text.size() <= 4096) return value->text;
  problems_->Add(*value, value->kind == YamlNode::Kind::kScalar
                             ? base::StrCat("`", key, "` is longer than 4096 bytes")
                             : base::StrCat("`", key, "` is ", KindName(value->kind), ", not a text"));
  return std::nullopt;
}

std::string MapReader::NeedText(std::string_view key) const {
  if (Need(key) == nullptr) return {};
  const std::string text = Text(key).value_or("");
  const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
  if (blank && Find(key)->kind == YamlNode::Kind::kScalar)
    problems_->Add(*Find(key), base::StrCat("`", key, "` is empty"));
  return text;
}

std::string MapReader::Name(std::string_view key) const {
  if (Need(key) == nullptr) return {};
  const std::optional<std::string> text = Text(key);
  if (!text || IsName(*text)) return text.value_or("");
  problems_->Add(*Find(key), base::StrCat("`", key, "` is not a name: ", Quoted(*text)),
                 "use a-z, 0-9, dot, dash and underscore, at most 64 characters");
  return {};
}

bool MapReader::Allow(std::string_view key, bool fallback) const {
  const std::optional<std::string> text = Text(key);
  if (!text) return fallback;
  if (*text == "allow") return true;
  if (*text != "deny")
    problems_->Add(*Find(key), base::StrCat("`", key, "` is ", Quoted(*text)), "write allow or deny");
  return false;
}

bool MapReader::Bool(std::string_view key, bool fallback) const {
  const std::optional<std::string> text = Text(key);
  if (!text) return fallback;
  if (*text == "true") return true;
  if (*text != "false")
    problems_->Add(*Find(key), base::StrCat("`", key, "` is ", Quoted(*text)), "write true or false");
  return false;
}

int64_t MapReader::Number(std::string_view key, int64_t fallback, int64_t min, int64_t max) const {
  const std::optional<std::string> text = Text(key);
  if (!text) return fallback;
  int64_t number = 0;
  if (base::ParseInt(*text, &number) && number >= min && number <= max) return number;
  problems_->Add(*Find(key), base::StrCat("`", key, "` is ", Quoted(*text)),
                 base::StrCat("write a number from ", min, " to ", max));
  return fallback;
}

absl::Duration MapReader::Duration(std::string_view key, absl::Duration fallback, absl::Duration max) const {
  const std::optional<std::string> text = Text(key);
  if (!text) return fallback;
  const auto duration = base::ParseDuration(*text);
  if (!duration.ok()) {
    problems_->Add(*Find(key), base::StrCat("`", key, "` is not a duration: ", Quoted(*text)),
                   "write 15m, 2h or 1h30m");
    return fallback;
  }
  if (*duration >= absl::Seconds(1) && *duration <= max) return *duration;
  problems_->Add(*Find(key), base::StrCat("`", key, "` is ", base::DurationText(*duration)),
                 base::StrCat("it must lie between 1s and ", base::DurationText(max)));
  return fallback;
}

std::vector<const YamlNode*> MapReader::List(std::string_view key) const {
  std::vector<const YamlNode*> out;
  const YamlNode* value = Find(key);
  if (value == nullptr) return out;
  if (value->kind != YamlNode::Kind::kList) {
    problems_->Add(*value, base::StrCat("`", key, "` is ", KindName(value->kind), ", not a list"),
                   value->kind == YamlNode::Kind::kScalar ? "write [x] for one entry" : "");
    return out;
  }
  for (const YamlNode& item : value->items) out.push_back(&item);
  return out;
}

std::vector<const YamlNode*> MapReader::Texts(std::string_view key, Empty empty) const {
  std::vector<const YamlNode*> out;
  const YamlNode* list = Find(key);
  if (empty == Empty::kRefused && list != nullptr && list->kind == YamlNode::Kind::kList && list->items.empty()) {
    problems_->Add(*list, base::StrCat("`", key, "` is an empty list"), "leave it out, or name something");
  }
  for (const YamlNode* item : List(key)) {
    if (item->kind == YamlNode::Kind::kScalar && !item->text.empty() && item->text.size() <= 1024) {
      out.push_back(item);
    } else {
      problems_->Add(*item,
                     base::StrCat("an entry of `", key, "` is ",
                                  item->kind == YamlNode::Kind::kScalar ? "empty or too long" : KindName(item->kind),
                                  item->kind == YamlNode::Kind::kScalar ? "" : ", not a text"));
    }
  }
  return out;
}

bool IsName(std::string_view text) {
  if (text.empty() || text.size() > 64 || text.front() == '.' || text.front() == '-' || text.front() == '_')
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

}  // namespace credbroker::policy
