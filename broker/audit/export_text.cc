#include "audit/export_text.h"

#include <nlohmann/json.hpp>

#include "base/str.h"
#include "base/text.h"

namespace credbroker::audit {
namespace {

using Json = nlohmann::json;

std::string PlainText(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string RefText(const Json& ref) {
  std::string text = PlainText(ref, "change");
  if (!text.empty()) text += ' ';
  return text + PlainText(ref, "ref");
}

}  // namespace

std::string SafeText(std::string_view text, std::size_t max_bytes) {
  std::string safe;
  const std::size_t size = text.size();
  while (!text.empty() && safe.size() <= max_bytes) {
    const std::size_t piece = text.find('\\');
    safe += base::EscapeText(text.substr(0, piece), max_bytes + 1);
    if (piece == std::string_view::npos) break;
    safe += '\\';
    text.remove_prefix(piece + 1);
  }
  if (safe.size() <= max_bytes) return safe;
  std::size_t keep = max_bytes;
  while (keep > 0 && (static_cast<unsigned char>(safe[keep]) & 0xC0U) == 0x80U) --keep;
  safe.resize(keep);
  base::StrAppend(&safe, "...[", size, " bytes]");
  return safe;
}

std::string ValueText(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) return RefText(value);
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& element : value) {
    if (element.is_array()) continue;  // no record of ours nests lists
    if (!text.empty()) text += ", ";
    text += ValueText(element);
  }
  return text;
}

std::string MemberText(const Json& record, const char* name) {
  const auto found = record.find(name);
  return found == record.end() ? std::string() : ValueText(*found);
}

std::string EventWords(const Json& record) {
  std::string text = MemberText(record, "kind");
  for (const char* name : {"outcome", "code"}) {
    if (const std::string word = MemberText(record, name); !word.empty()) base::StrAppend(&text, " ", word);
  }
  const std::string action = MemberText(record, "action");
  if (!action.empty()) return base::StrCat(text, ": ", action, " ", MemberText(record, "subject"));
  const std::string host = MemberText(record, "host");
  if (host.empty()) return text;
  return base::StrCat(text, ": ", MemberText(record, "method"), " ", host, MemberText(record, "path"));
}

}  // namespace credbroker::audit
