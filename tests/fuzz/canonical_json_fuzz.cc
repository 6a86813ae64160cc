// RFC 8785: whatever is accepted is canonical, canonicalizing it again changes nothing, and the check that copies nothing agrees.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "audit/canonical.h"
#include "audit/json_line.h"
#include "base/text.h"
#include "model/record.h"

namespace {

void CheckRecord(std::string_view bytes) {
  credbroker::model::Record record;
  const std::size_t third = bytes.size() / 3;
  record.path = std::string(bytes.substr(0, third));
  record.host = record.detail = std::string(bytes.substr(third, third));
  record.refs.push_back({std::string(bytes.substr(2 * third)), "create", "", ""});
  record.query_names.assign(bytes.size() % 100, record.path);
  credbroker::audit::JsonLine line;
  credbroker::audit::FormatRecord(record, &line);
  std::string text;
  line.AppendTo(&text, "edge", 1);
  text.pop_back();
  if (text.size() > credbroker::audit::kMaxLineBytes || !credbroker::audit::IsCanonicalObject(text)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckRecord(bytes);
  const auto once = credbroker::audit::Canonicalize(bytes);
  const bool canonical = bytes.starts_with('{') && once.ok() && *once == bytes;
  if (credbroker::audit::IsCanonicalObject(bytes) != canonical) std::abort();
  if (!once.ok()) return 0;
  const auto twice = credbroker::audit::Canonicalize(*once);
  if (!twice.ok() || *twice != *once || !credbroker::base::IsUtf8(*once)) std::abort();
  return 0;
}
