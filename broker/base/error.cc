#include "base/error.h"

#include <algorithm>
#include <array>

#include "absl/strings/cord.h"
#include "base/str.h"

namespace credbroker::base {
namespace {

constexpr char kPayloadUrl[] = "credbroker.v1/error";

constexpr std::array kEntries = {
#define BROKER_ERROR(number, name, status, http, text, next_step) \
  ErrorEntry{ErrorCode::name, #name, absl::StatusCode::status, http, text, next_step},
#include "base/errors.def"
#undef BROKER_ERROR
};

// kNoRule -> no_rule, once at start.
std::string SnakeCase(std::string_view constant) {
  std::string out;
  for (const char c : constant.substr(1)) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !out.empty()) out.push_back('_');
    out.push_back(upper ? static_cast<char>(c | 0x20) : c);
  }
  return out;
}

struct Catalogue {
  std::array<std::string, kEntries.size()> names;
  std::array<ErrorEntry, kEntries.size()> entries = kEntries;
  Catalogue() {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      names[i] = SnakeCase(entries[i].name);
      entries[i].name = names[i];
    }
  }
};

const Catalogue& TheCatalogue() {
  static const Catalogue* const catalogue = new Catalogue;  // never destroyed: used until the last log line
  return *catalogue;
}

}  // namespace

const ErrorEntry& Lookup(ErrorCode code) {
  const auto& entries = TheCatalogue().entries;
  const auto find = [&](ErrorCode wanted) {
    return std::find_if(entries.begin(), entries.end(), [&](const ErrorEntry& e) { return e.code == wanted; });
  };
  const auto found = find(code);
  return found != entries.end() ? *found : *find(ErrorCode::kInternal);
}

absl::Status Error(ErrorCode code, std::string_view detail) {
  const ErrorEntry& entry = Lookup(code);
  const std::string_view separator = detail.empty() ? "" : ": ";
  absl::Status status(entry.status, StrCat(entry.text, separator, detail));
  status.SetPayload(kPayloadUrl, absl::Cord(StrCat(static_cast<int>(code))));
  return status;
}

ErrorCode CodeOf(const absl::Status& status) {
  if (status.ok()) return ErrorCode::kNone;
  const auto payload = status.GetPayload(kPayloadUrl);
  int number = 0;
  if (!payload || !ParseInt(std::string(*payload), &number)) return ErrorCode::kInternal;
  return Lookup(static_cast<ErrorCode>(number)).code;
}

absl::Status WithContext(absl::Status status, std::string_view context) {
  if (status.ok() || context.empty()) return status;
  absl::Status wrapped(status.code(), StrCat(context, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { wrapped.SetPayload(url, payload); });
  return wrapped;
}

}  // namespace credbroker::base
