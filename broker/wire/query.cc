#include "wire/query.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "wire/chars.h"
#include "wire/hop.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

// The byte that %XX at `at` stands for, or -1.
int EncodedByte(std::string_view text, std::size_t at) {
  if (at + 2 >= text.size()) return -1;
  const int high = chars::HexValue(text[at + 1]);
  const int low = chars::HexValue(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// Calls `visit(piece)` for the non-empty pieces between the separators.
template <typename Visit>
void ForEachPiece(std::string_view text, std::string_view separators, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string_view RawName(std::string_view piece) { return piece.substr(0, piece.find('=')); }

bool DecodeForm(std::string_view text, std::string* out) {
  if (!PercentDecode(text, out)) return false;
  // A '+' that came as %2B must stay one, so the replacement looks at the sent text.
  if (text.find('+') == std::string_view::npos) return true;
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return PercentDecode(spaced, out);
}

}  // namespace

absl::StatusOr<std::vector<QueryParameter>> ParseQuery(std::string_view query) {
  std::vector<QueryParameter> parameters;
  const char* fault = nullptr;
  ForEachPiece(query, "&", [&](std::string_view piece) {
    if (fault != nullptr) return;
    const std::string_view raw_name = RawName(piece);
    QueryParameter parameter{{}, piece, piece.substr(std::min(raw_name.size() + 1, piece.size()))};
    if (!DecodeForm(raw_name, &parameter.name)) fault = "a parameter name has a broken percent encoding";
    if (parameters.size() == kMaxQueryParameters) fault = "too many query parameters";
    parameters.push_back(std::move(parameter));
  });
  if (fault != nullptr) return base::Error(ErrorCode::kMalformedHttp, fault);
  return parameters;
}

absl::StatusOr<std::optional<std::string>> QueryValue(std::string_view query, std::string_view name) {
  auto parameters = ParseQuery(query);
  if (!parameters.ok()) return parameters.status();
  std::optional<std::string> found;
  for (const QueryParameter& parameter : *parameters) {
    if (parameter.name != name) continue;
    if (found) return base::Error(ErrorCode::kMalformedHttp, "a query parameter is given twice");
    found.emplace();
    if (!DecodeForm(parameter.raw_value, &*found))
      return base::Error(ErrorCode::kMalformedHttp, "broken percent encoding");
  }
  return found;
}

std::vector<std::string> QueryNames(std::string_view query) {
  std::set<std::string> names;
  ForEachPiece(query, "&;", [&](std::string_view piece) {
    std::string name;
    if (!DecodeForm(RawName(piece), &name)) name = RawName(piece);
    if (names.size() < kMaxQueryParameters) names.insert(std::move(name));
  });
  return {names.begin(), names.end()};
}

bool HasCredentialQuery(std::string_view query, std::string_view granted) {
  bool found = false;
  ForEachPiece(query, "&", [&](std::string_view parameter) {
    const bool one_reading = parameter.find(';') == std::string_view::npos;
    ForEachPiece(parameter, ";", [&](std::string_view piece) {
      std::string name;
      const bool decoded = DecodeForm(RawName(piece), &name);
      const bool replaced = !granted.empty() && name == granted;
      found = found || !decoded || (replaced ? !one_reading : IsCredentialQueryName(name));
    });
  });
  return found;
}

bool PercentDecode(std::string_view text, std::string* out) {
  out->clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out->push_back(text[i]);
      continue;
    }
    const int byte = EncodedByte(text, i);
    if (byte < 0) return false;
    out->push_back(static_cast<char>(byte));
    i += 2;
  }
  return true;
}

std::string PercentEncode(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    if (chars::Is(c, chars::kUnreserved)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return out;
}

}  // namespace credbroker::wire
