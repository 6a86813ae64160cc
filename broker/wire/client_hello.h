#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/parse_result.h"

namespace credbroker::wire {

// What a TLS ClientHello says in clear, for tunnels that are not opened (RFC 8446 section 4.1.2, RFC 6066 section 3).
struct ClientHello {
  std::optional<std::string> sni;  // lower case letters, digits, dash, dot and underscore only; without a final dot
  bool has_ech = false;            // encrypted_client_hello is there: the true name may be another one
  std::vector<std::string> alpn;
};

// Reads one ClientHello from the start of a TLS stream; it may be cut over records. kMalformedTls for anything else,
// an extension given twice, or more than 16 KiB; kBadHost for a server name that no DNS name is (an address, a
// trailing dot, other bytes). `consumed` counts whole records; all bytes must be sent on.
ParseResult ParseClientHello(std::string_view bytes, ClientHello* out);

}  // namespace credbroker::wire
