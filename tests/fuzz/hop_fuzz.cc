#include <algorithm>
#include <string>

#include "base/text.h"
#include "fuzz_bytes.h"
#include "wire/hop.h"
#include "wire/http_writer.h"

using namespace credbroker;
using fuzz::Require;

// input := length of the name u8 | name | value of Connection. Letter case changes nothing; what Connection names ends
// here.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest = fuzz::View(data, size).substr(1);
  const std::string_view name = rest.substr(0, data[0]);
  const std::string_view connection = rest.substr(name.size());
  const std::string lower = base::AsciiLower(name);
  std::string upper = lower;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c;
  for (const auto kind :
       {wire::IsHopByHop, wire::IsProxyInternal, wire::IsCredentialHeader, wire::IsCredentialQueryName,
        wire::IsForwardingHeader, wire::IsUnderscoreDisguise, wire::IsProtectedFromConnection}) {
    Require(kind(upper) == kind(lower) && kind(name) == kind(lower));
  }
  Require(!wire::IsHopByHop(name) || wire::EndsHere(name, ""));
  Require(!wire::IsCredentialHeader(name) || wire::IsProtectedFromConnection(name));

  wire::TokenList list(connection);
  std::size_t tokens = 0;
  for (std::string_view token; list.Next(&token); ++tokens) {
    Require(wire::IsToken(token) && wire::EndsHere(token, connection));
  }
  Require(tokens <= connection.size() / 2 + 1);
  Require(list.malformed() || std::all_of(connection.begin(), connection.end(), [](char c) {
            return c == ',' || c == ' ' || c == '\t' || wire::IsToken(std::string_view(&c, 1));
          }));
  return 0;
}
