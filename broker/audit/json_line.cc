#include "audit/json_line.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "audit/canonical.h"
#include "base/str.h"
#include "base/text.h"
#include "crypto/hash.h"

namespace credbroker::audit {
namespace {

using model::Record;

enum class Shape { kNone, kSchema, kId, kKind, kTime, kText, kInt, kInt64, kList, kRefs };

struct Field {
  std::string_view name;
  FieldClass field_class = FieldClass::kPublic;
  Shape shape = Shape::kNone;
  std::size_t limit = 0;  // bytes after escaping
  std::string Record::* text = nullptr;
  int Record::* number = nullptr;
  int64_t Record::* large = nullptr;
  std::vector<std::string> Record::* list = nullptr;
};

constexpr std::size_t kShort = 256;
constexpr std::size_t kLong = 512;
constexpr std::size_t kPath = 2048;
constexpr std::size_t kMaxElements = 64;
constexpr int64_t kMaxExact = (int64_t{1} << 53) - 1;  // what a JSON number can say exactly

constexpr Field Ours(std::string_view name, std::string Record::* text) {
  return {name, FieldClass::kPublic, Shape::kText, kShort, text};
}
constexpr Field Theirs(std::string_view name, std::string Record::* text, std::size_t limit) {
  return {name, FieldClass::kHashed, Shape::kText, limit, text};
}
constexpr Field Number(std::string_view name, int Record::* number) {
  return {name, FieldClass::kPublic, Shape::kInt, 0, nullptr, number};
}
constexpr Field Large(std::string_view name, int64_t Record::* large) {
  return {name, FieldClass::kPublic, Shape::kInt64, 0, nullptr, nullptr, large};
}
constexpr Field List(std::string_view name, std::vector<std::string> Record::* list) {
  return {name, FieldClass::kHashed, Shape::kList, kShort, nullptr, nullptr, nullptr, list};
}
constexpr Field Made(std::string_view name, Shape shape, std::size_t limit = 0) {
  return {name, shape == Shape::kRefs ? FieldClass::kHashed : FieldClass::kPublic, shape, limit};
}
constexpr Field Never(std::string_view name) { return {name, FieldClass::kNever}; }

// The allow-list. What is not here is in no line.
constexpr auto kFields = std::to_array<Field>({
    Ours("action", &Record::action),
    Theirs("actor", &Record::actor, kShort),
    Ours("after", &Record::after),
    Never("authorization"),
    Ours("before", &Record::before),
    Never("body"),
    Large("bytes_down", &Record::bytes_down),
    Large("bytes_up", &Record::bytes_up),
    Ours("channel", &Record::channel),
    Ours("code", &Record::code),
    Never("cookie"),
    Ours("credential", &Record::credential),
    Theirs("detail", &Record::detail, kLong),
    Large("duration_us", &Record::duration_us),
    Ours("effect_class", &Record::effect_class),
    Ours("exception", &Record::exception),
    Never("headers"),
    Theirs("host", &Record::host, kLong),
    Made("id", Shape::kId),
    Made("kind", Shape::kKind),
    Ours("label", &Record::label),
    Theirs("method", &Record::method, kShort),
    Ours("outcome", &Record::outcome),
    Ours("parent_token_id", &Record::parent_token_id),
    Never("password"),
    Theirs("path", &Record::path, kPath),
    Theirs("peer", &Record::peer, kShort),
    Ours("phase", &Record::phase),
    Large("policy_version", &Record::policy_version),
    Number("port", &Record::port),
    Never("query"),
    List("query_names", &Record::query_names),
    Made("refs", Shape::kRefs, kLong),
    Theirs("repository", &Record::repository, kLong),
    Ours("request_id", &Record::request_id),
    Theirs("requester", &Record::requester, kShort),
    Theirs("rule", &Record::rule, kLong),
    Made("schema", Shape::kSchema),
    Ours("scheme", &Record::scheme),
    List("scopes", &Record::scopes),
    Never("secret"),
    Ours("service", &Record::service),
    Ours("session", &Record::session),
    Number("status", &Record::status),
    Theirs("subject", &Record::subject, kLong),
    Theirs("ticket", &Record::ticket, kShort),
    Made("time", Shape::kTime),
    Never("token"),
    Ours("token_id", &Record::token_id),
    Never("user_agent"),
});
// All names are ASCII, so byte order is the UTF-16 order of RFC 8785.
static_assert(std::is_sorted(kFields.begin(), kFields.end(),
                             [](const Field& a, const Field& b) { return a.name < b.name; }));

constexpr auto kRules = [] {
  std::array<FieldRule, kFields.size()> rules{};
  for (std::size_t i = 0; i < kFields.size(); ++i) rules[i] = {kFields[i].name, kFields[i].field_class};
  return rules;
}();

// Bytes that stand for themselves both in base::EscapeText and in a JSON string.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

// How tokens begin: ours, also percent-encoded, and those of well-known providers.
constexpr std::array<std::string_view, 15> kTokenStarts = {
    "cbt_", "cbt%5f", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-ant-", "sk-proj-",
    "xoxb-", "xoxp-", "akia", "asia"};
constexpr std::size_t kMinTokenBytes = 16;

constexpr auto kTokenFirst = [] {
  std::array<bool, 256> first{};
  for (const std::string_view start : kTokenStarts) {
    first[static_cast<uint8_t>(start[0])] = first[static_cast<uint8_t>(start[0] - 32)] = true;
  }
  return first;
}();

constexpr auto kTokenByte = [] {
  std::array<bool, 256> token{};
  for (const char c : std::string_view("_-.%0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    token[static_cast<uint8_t>(c)] = true;
  }
  return token;
}();

// Length of the run of token bytes at the start of `text`.
std::size_t RunLength(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && kTokenByte[static_cast<uint8_t>(text[length])]) ++length;
  return length;
}

bool BeginsToken(std::string_view run) {
  if (run.size() < kMinTokenBytes || !kTokenFirst[static_cast<uint8_t>(run[0])]) return false;
  for (const std::string_view start : kTokenStarts) {
    // Two letters tell most apart before the call.
    if ((run[0] | 0x20) != start[0] || (run[1] | 0x20) != start[1]) continue;
    if (base::EqualsIgnoreCase(run.substr(0, start.size()), start)) return true;
  }
  return false;
}

bool HoldsToken(std::string_view text) {
  while (text.size() >= kMinTokenBytes) {
    const std::size_t length = RunLength(text);
    const std::string_view run = text.substr(0, length);
    for (std::size_t at = 0; at + kMinTokenBytes <= length; ++at) {
      if (BeginsToken(run.substr(at))) return true;
    }
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return false;
}

void AppendText(std::string_view text, FieldClass field_class, std::size_t limit, std::string* out) {
  if (field_class == FieldClass::kHashed && HoldsToken(text)) {
    return AppendText(MaskTokens(text), FieldClass::kPublic, limit, out);
  }
  const bool plain = text.size() <= limit && std::all_of(text.begin(), text.end(), [](char c) {
                       return kPlain[static_cast<uint8_t>(c)];
                     });
  if (!plain) return AppendJsonString(base::EscapeText(text, limit), out);
  out->push_back('"');
  out->append(text);
  out->push_back('"');
}

void AppendTwo(int64_t number, std::string* out) {
  out->push_back(static_cast<char>('0' + number / 10));
  out->push_back(static_cast<char>('0' + number % 10));
}

// RFC 3339 in UTC with microseconds, as base::TimeText writes it; that one costs ten times as much.
void AppendTime(absl::Time time, std::string* out) {
  const int64_t micros = std::clamp<int64_t>(absl::ToUnixMicros(time), 0, 253'402'300'799'999'999);
  const int64_t seconds = micros / 1'000'000;
  // Days to a civil date in the proleptic Gregorian calendar, counted from 0000-03-01 in eras of 400 years.
  const int64_t days = seconds / 86400 + 719468;
  const int64_t era = days / 146097;
  const int64_t day_of_era = days % 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted = (5 * day_of_year + 2) / 153;
  const int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  AppendTwo(year / 100, out);
  AppendTwo(year % 100, out);
  out->push_back('-');
  AppendTwo(month, out);
  out->push_back('-');
  AppendTwo(day_of_year - (153 * shifted + 2) / 5 + 1, out);
  out->push_back('T');
  AppendTwo(seconds % 86400 / 3600, out);
  out->push_back(':');
  AppendTwo(seconds % 3600 / 60, out);
  out->push_back(':');
  AppendTwo(seconds % 60, out);
  out->push_back('.');
  AppendTwo(micros % 1'000'000 / 10'000, out);
  AppendTwo(micros % 10'000 / 100, out);
  AppendTwo(micros % 100, out);
  out->push_back('Z');
}

// One pass over the table with all limits divided by `divisor`.
class Writer {
 public:
  Writer(const Record& record, std::size_t divisor, JsonLine* line)
      : record_(record), divisor_(divisor), line_(line), out_(&line->text) {}

  void Write() {
    out_->clear();
    out_->push_back('{');
    for (const Field& field : kFields) WriteField(field);
    out_->back() = '}';
  }

 private:
  void Name(const Field& field) {
    out_->push_back('"');
    out_->append(field.name);
    out_->append("\":");
  }

  void WriteField(const Field& field) {
    switch (field.shape) {
      case Shape::kNone: return;
      case Shape::kText: return Text(field, record_.*field.text);
      case Shape::kInt: return Whole(field, record_.*field.number);
      case Shape::kInt64: return Whole(field, record_.*field.large);
      case Shape::kSchema: return Whole(field, kRecordSchema);
      case Shape::kKind: return Text(field, model::RecordKindName(record_.kind), kShort);
      case Shape::kList: return Elements(field, record_.*field.list);
      case Shape::kRefs: return Refs(field);
      case Shape::kId: {
        Name(field);
        out_->push_back('"');
        line_->id_at = out_->size();
        out_->append("\",");
        return;
      }
      case Shape::kTime: {
        Name(field);
        out_->push_back('"');
        AppendTime(record_.time, out_);
        out_->append("\",");
        return;
      }
    }
  }

  void Text(const Field& field, std::string_view text, std::size_t limit = 0) {
    if (text.empty()) return;
    Name(field);
    AppendText(text, field.field_class, std::max(limit, field.limit) / divisor_, out_);
    out_->push_back(',');
  }

  void Whole(const Field& field, int64_t number) {
    if (number < 0) return;
    Name(field);
    base::StrAppend(out_, std::min(number, kMaxExact), ',');
  }

  void Elements(const Field& field, const std::vector<std::string>& list) {
    if (list.empty()) return;
    Name(field);
    out_->push_back('[');
    const std::size_t shown = std::min(list.size(), kMaxElements / divisor_);
    for (std::size_t i = 0; i < shown; ++i) {
      AppendText(list[i], field.field_class, field.limit / divisor_, out_);
      out_->push_back(',');
    }
    if (shown < list.size()) base::StrAppend(out_, "\"...[", list.size(), " in all]\",");
    out_->back() = ']';
    out_->push_back(',');
  }

  void Refs(const Field& field) {
    if (record_.refs.empty()) return;
    Name(field);
    out_->push_back('[');
    const std::size_t shown = std::min(record_.refs.size(), kMaxElements / divisor_);
    for (std::size_t i = 0; i < shown; ++i) {
      const model::RecordRef& ref = record_.refs[i];
      out_->append("{\"change\":");
      AppendText(ref.change, FieldClass::kHashed, 64 / divisor_, out_);
      out_->append(",\"new_id\":");
      AppendText(ref.new_id, FieldClass::kHashed, 64, out_);
      out_->append(",\"old_id\":");
      AppendText(ref.old_id, FieldClass::kHashed, 64, out_);
      out_->append(",\"ref\":");
      AppendText(ref.ref, FieldClass::kHashed, field.limit / divisor_, out_);
      out_->append("},");
    }
    if (shown < record_.refs.size()) base::StrAppend(out_, "{\"ref\":\"...[", record_.refs.size(), " in all]\"},");
    out_->back() = ']';
    out_->push_back(',');
  }

  const Record& record_;
  const std::size_t divisor_;
  JsonLine* const line_;
  std::string* const out_;
};

}  // namespace

std::span<const FieldRule> FieldRules() { return kRules; }

void JsonLine::AppendTo(std::string* out, std::string_view ledger, uint64_t index) const {
  const std::string_view all = text;
  base::StrAppend(out, all.substr(0, id_at), ledger, '-', index, all.substr(id_at), '\n');
}

void FormatRecord(const model::Record& record, JsonLine* line) {
  constexpr std::size_t kRoomForId = 96;
  for (const std::size_t divisor : {1, 4, 16, 64}) {
    Writer(record, divisor, line).Write();
    if (line->text.size() + kRoomForId <= kMaxLineBytes) return;
  }
}

std::string TokenFingerprint(std::string_view token) {
  return base::StrCat("[token:", std::string_view(crypto::Sha256Hex(token)).substr(0, 16), ']');
}

std::string MaskTokens(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view run = text.substr(0, RunLength(text));
    std::size_t at = 0;
    while (at < run.size() && !BeginsToken(run.substr(at))) ++at;
    out.append(run, 0, at);
    if (at < run.size()) out += TokenFingerprint(run.substr(at));
    text.remove_prefix(run.size());
    if (text.empty()) break;
    out.push_back(text[0]);  // no token byte
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace credbroker::audit
