#include "fuzz_bytes.h"
#include "model/authority.h"

using namespace credbroker;
using fuzz::Require;

// What was taken is canonical: it reads back as itself, and a pattern made of it matches it and nothing above it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::View(data, size);
  if (const auto authority = model::ParseAuthority(text, 443); authority.ok()) {
    Require(!authority->host.empty() && authority->host.size() <= 253 && authority->port != 0);
    Require(authority->host.find_first_of(" \t\r\n/@?#\\%[]") == std::string::npos);
    for (const char c : authority->host) Require(c > 0x20 && c < 0x7F && !(c >= 'A' && c <= 'Z'));
    const auto again = model::ParseAuthority(authority->Text(), std::nullopt);
    Require(again.ok() && *again == *authority);
    const auto short_form = model::ParseAuthority(authority->Text(443), 443);
    Require(short_form.ok() && *short_form == *authority);
    const auto exact = model::HostPattern::Parse(authority->Text());
    Require(exact.ok() && !exact->wildcard() && exact->Matches(*authority));
  }
  if (const auto host = model::ParseHost(text); host.ok()) {
    const auto again = model::ParseHost(host->host);
    Require(again.ok() && *again == *host);
  }
  if (const auto pattern = model::HostPattern::Parse(text); pattern.ok()) {
    const auto again = model::HostPattern::Parse(pattern->Text());
    Require(again.ok() && again->Text() == pattern->Text());
    Require(pattern->Matches(pattern->authority()) != pattern->wildcard());
  }
  return 0;
}
