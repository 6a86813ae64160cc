#include <algorithm>

#include "base/str.h"
#include "base/text.h"
#include "fuzz_bytes.h"
#include "rewrite/place.h"
#include "wire/http_head.h"
#include "wire/query.h"

using namespace credbroker;
using fuzz::Require;

namespace {

std::string_view Take(std::string_view* rest) {
  if (rest->empty()) return {};
  const std::size_t size = static_cast<unsigned char>(rest->front());
  const std::string_view taken = rest->substr(1, size);
  rest->remove_prefix(1 + taken.size());
  return taken;
}

// The line is one field of the promised name, whatever the secret holds.
void CheckHeader(const model::Placement& placement, std::string_view secret, std::string_view line) {
  Require(line.ends_with("\r\n") && line.find_first_of(std::string_view("\r\n\0", 3)) == line.size() - 2);
  const std::string head =
      base::StrCat("HTTP/1.1 200 OK\r\n", line, "\r\n");  // the parser that has no rules about names
  wire::ResponseHead parsed;
  Require(wire::ParseResponseHead(head, "GET", {.max_head_bytes = 1 << 16}, &parsed).complete() ||
          wire::EqualsToken(placement.name, "content-length") ||
          wire::EqualsToken(placement.name, "transfer-encoding") || wire::EqualsToken(placement.name, "connection"));
  if (parsed.headers.size() != 1) return;
  Require(wire::EqualsToken(parsed.headers[0].name, rewrite::PlacedHeaderName(placement)));
  const std::string_view value = parsed.headers[0].value;
  if (placement.kind == model::Placement::Kind::kBasic) {
    const std::string login = base::StrCat(placement.username, ":", secret);
    Require(value == base::StrCat("Basic ", base::Base64Encode(login)));
    return;
  }
  Require(value.ends_with(secret));
}

void CheckTarget(const model::Placement& placement, std::string_view secret, std::string_view target) {
  const std::size_t question = target.find('?');
  Require(question != std::string_view::npos && target.find_first_of(" \r\n#") == std::string_view::npos);
  const auto value = wire::QueryValue(target.substr(question + 1), placement.name);
  Require(value.ok() && *value == secret);
}

}  // namespace

// input := kind u8 | name | prefix or user | secret | resource; each text but the last has its length u8 in front.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view rest = fuzz::View(data, size).substr(1);
  model::Placement placement;
  placement.kind = static_cast<model::Placement::Kind>(data[0] % 4);
  placement.name = Take(&rest);
  placement.prefix = placement.username = Take(&rest);
  const std::string_view value = Take(&rest);
  const base::Secret secret = base::Secret::Copy(value);

  const std::string before = "x: y\r\n";
  std::string out = before;
  const absl::Status header = rewrite::AppendCredentialHeader(placement, secret, &out);
  Require(out.starts_with(before) && (header.ok() || out == before));
  if (header.ok()) CheckHeader(placement, value, std::string_view(out).substr(before.size()));

  // What a head parser let through: visible ASCII, a slash in front, no fragment.
  const bool plausible = rest.starts_with('/') &&
                         std::all_of(rest.begin(), rest.end(), [](char c) { return c > 0x20 && c < 0x7F && c != '#'; });
  if (!plausible) return 0;
  std::string target;
  const bool placed = rewrite::AppendTargetWithCredential(placement, secret, rest, &target).ok();
  if (placement.kind != model::Placement::Kind::kQuery) Require(placed && target == rest);
  if (placed && placement.kind == model::Placement::Kind::kQuery) CheckTarget(placement, value, target);
  if (!placed) Require(target.empty());
  return 0;
}
