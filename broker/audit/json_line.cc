#include "audit/json_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "audit/json_text.h"
#include "base/str.h"

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
    Large("intent", &Record::intent),
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

char* PutTwo(int64_t number, char* at) {
  *at++ = static_cast<char>('0' + number / 10);
  *at++ = static_cast<char>('0' + number % 10);
  return at;
}

// RFC 3339 in UTC with microseconds, as base::TimeText writes it; that one costs ten times as much.
char* PutTime(absl::Time time, char* at) {
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
  at = PutTwo(year % 100, PutTwo(year / 100, at));
  *at++ = '-';
  at = PutTwo(month, at);
  *at++ = '-';
  at = PutTwo(day_of_year - (153 * shifted + 2) / 5 + 1, at);
  *at++ = 'T';
  at = PutTwo(seconds % 86400 / 3600, at);
  *at++ = ':';
  at = PutTwo(seconds % 3600 / 60, at);
  *at++ = ':';
  at = PutTwo(seconds % 60, at);
  *at++ = '.';
  at = PutTwo(micros % 100, PutTwo(micros % 10'000 / 100, PutTwo(micros % 1'000'000 / 10'000, at)));
  *at++ = 'Z';
  return at;
}

// Each text and number begins with the field's opening, written as one block of fixed size.
constexpr std::size_t kOpeningBytes = 32;
struct Opening {
  std::array<char, kOpeningBytes> bytes{};  // `"name":` and a quote for texts
  std::size_t size = 0;
};
constexpr auto kOpenings = [] {
  std::array<Opening, kFields.size()> openings{};
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    Opening& opening = openings[i];
    const auto put = [&](std::string_view piece) {
      for (const char c : piece) opening.bytes[opening.size++] = c;
    };
    put("\"");
    put(kFields[i].name);
    put("\":");
    const Shape shape = kFields[i].shape;
    if (shape == Shape::kText || shape == Shape::kKind || shape == Shape::kId || shape == Shape::kTime) put("\"");
  }
  return openings;
}();

// One pass over the table with all limits divided by `divisor`. Writes through a pointer into the line's memory: at some
// fifty pieces a record the checks of std::string::append would cost more than the copies.
class Writer {
 public:
  Writer(const Record& record, std::size_t divisor, JsonLine* line)
      : record_(record), divisor_(divisor), line_(line), out_(&line->text) {}

  void Write() {
    out_->resize(2048);  // most records need less; Room makes more
    at_ = out_->data();
    *at_++ = '{';
    // One straight run over the table: what a field is is known where it is written.
    [this]<std::size_t... i>(std::index_sequence<i...>) { (WriteField<i>(), ...); }(std::make_index_sequence<kFields.size()>());
    at_[-1] = '}';
    out_->resize(Size());
  }

 private:
  std::size_t Size() const { return static_cast<std::size_t>(at_ - out_->data()); }

  // Room for `bytes` more and the small change around them.
  void Room(std::size_t bytes) {
    const std::size_t size = Size();
    const std::size_t wanted = size + bytes + 2 * kOpeningBytes;
    if (wanted <= out_->size()) return;
    out_->resize(2 * wanted);
    at_ = out_->data() + size;
  }
  void Put(std::string_view piece) {
    std::memcpy(at_, piece.data(), piece.size());
    at_ += piece.size();
  }
  void Open(const Opening& opening) {
    std::memcpy(at_, opening.bytes.data(), kOpeningBytes);
    at_ += opening.size;
  }
  // The rest of what `write` appends to a string of its own: the rare and the long.
  template <typename Write>
  void Slowly(Write write) {
    out_->resize(Size());
    write(out_);
    const std::size_t size = out_->size();
    out_->resize(size + 2 * kOpeningBytes);
    at_ = out_->data() + size;
  }

  template <std::size_t i>
  void WriteField() {
    constexpr const Field& field = kFields[i];
    constexpr const Opening& opening = kOpenings[i];
    if constexpr (field.shape == Shape::kText) {
      if (!(record_.*field.text).empty()) Text(field, opening, record_.*field.text);
    } else if constexpr (field.shape == Shape::kInt) {
      if (record_.*field.number >= 0) Whole(opening, record_.*field.number);
    } else if constexpr (field.shape == Shape::kInt64) {
      if (record_.*field.large >= 0) Whole(opening, record_.*field.large);
    } else if constexpr (field.shape == Shape::kSchema) {
      Whole(opening, kRecordSchema);
    } else if constexpr (field.shape == Shape::kKind) {
      Text(field, opening, model::RecordKindName(record_.kind), kShort);
    } else if constexpr (field.shape == Shape::kList) {
      if (!(record_.*field.list).empty()) Elements(field, opening, record_.*field.list);
    } else if constexpr (field.shape == Shape::kRefs) {
      if (!record_.refs.empty()) Refs(field, opening);
    } else if constexpr (field.shape == Shape::kId) {
      Room(0);
      Open(opening);
      line_->id_at = Size();
      Put("\",");
    } else if constexpr (field.shape == Shape::kTime) {
      Room(0);
      Open(opening);
      at_ = PutTime(record_.time, at_);
      Put("\",");
    }
  }

  void Text(const Field& field, const Opening& opening, std::string_view text, std::size_t limit = 0) {
    limit = std::max(limit, field.limit) / divisor_;
    Room(text.size());
    Open(opening);
    if (text.size() <= limit && IsPlain(text) && !(field.field_class == FieldClass::kHashed && HoldsToken(text))) {
      Put(text);
      return Put("\",");
    }
    --at_;  // the quote comes with the text
    Slowly([&](std::string* out) { AppendText(text, field.field_class, limit, out); });
    Put(",");
  }

  void Whole(const Opening& opening, int64_t number) {
    Room(0);
    Open(opening);
    at_ = std::to_chars(at_, at_ + 20, std::min(number, kMaxExact)).ptr;
    *at_++ = ',';
  }

  void Elements(const Field& field, const Opening& opening, const std::vector<std::string>& list) {
    Room(0);
    Open(opening);
    Slowly([&](std::string* out) {
      out->push_back('[');
      const std::size_t shown = std::min(list.size(), kMaxElements / divisor_);
      for (std::size_t i = 0; i < shown; ++i) {
        AppendText(list[i], field.field_class, field.limit / divisor_, out);
        out->push_back(',');
      }
      if (shown < list.size()) base::StrAppend(out, "\"...[", list.size(), " in all]\",");
      out->back() = ']';
      out->push_back(',');
    });
  }

  void Refs(const Field& field, const Opening& opening) {
    Room(0);
    Open(opening);
    Slowly([&](std::string* out) {
      out->push_back('[');
      const std::size_t shown = std::min(record_.refs.size(), kMaxElements / divisor_);
      for (std::size_t i = 0; i < shown; ++i) AppendRef(record_.refs[i], field.limit, out);
      if (shown < record_.refs.size()) base::StrAppend(out, "{\"ref\":\"...[", record_.refs.size(), " in all]\"},");
      out->back() = ']';
      out->push_back(',');
    });
  }

  void AppendRef(const model::RecordRef& ref, std::size_t limit, std::string* out) const {
    out->append("{\"change\":");
    AppendText(ref.change, FieldClass::kHashed, 64 / divisor_, out);
    out->append(",\"new_id\":");
    AppendText(ref.new_id, FieldClass::kHashed, 64, out);
    out->append(",\"old_id\":");
    AppendText(ref.old_id, FieldClass::kHashed, 64, out);
    out->append(",\"ref\":");
    AppendText(ref.ref, FieldClass::kHashed, limit / divisor_, out);
    out->append("},");
  }

  const Record& record_;
  const std::size_t divisor_;
  JsonLine* const line_;
  std::string* const out_;
  char* at_ = nullptr;
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

}  // namespace credbroker::audit
