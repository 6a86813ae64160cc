#pragma once

#include <string_view>

namespace credbroker::wire {

// Kinds of header fields, all by name without letter case.

// Ends at this hop (RFC 9110 section 7.6.1): connection, keep-alive, proxy-connection, te, trailer,
// transfer-encoding, upgrade, http2-settings. Fields that Connection names are hop-by-hop as well.
bool IsHopByHop(std::string_view name);

// All of Proxy-*: meant for this proxy, never sent on.
bool IsProxyInternal(std::string_view name);

// Carries a credential for some service; on a managed host it is refused or removed unless it is ours.
// Proxy-Authorization is one too.
bool IsCredentialHeader(std::string_view name);

// The same for query parameters, by decoded name.
bool IsCredentialQueryName(std::string_view name);

// Says where a request came from or was meant to go (Forwarded, X-Forwarded-*, X-Real-IP, X-Original-URL,
// X-Rewrite-URL, X-HTTP-Method-Override, ...). Never an input of ours; removed on managed hosts, since an upstream
// might believe it.
bool IsForwardingHeader(std::string_view name);

// An underscore spelling of a field that carries credentials, framing or routing (`proxy_authorization`): some servers
// read both spellings as one.
bool IsUnderscoreDisguise(std::string_view name);

// A field that Connection must not name, since removing it would change what the request means.
bool IsProtectedFromConnection(std::string_view name);

// The elements of a comma list of tokens (Connection, Upgrade, TE without parameters). Empty elements are skipped.
//   for (TokenList list(value); list.Next(&token);) ...
class TokenList {
 public:
  explicit TokenList(std::string_view value) : rest_(value) {}
  // False at the end, or at an element that is no token: then malformed() is true.
  bool Next(std::string_view* token);
  bool malformed() const { return malformed_; }

 private:
  std::string_view rest_;
  bool malformed_ = false;
};

// True if `name` must not be sent on because of its kind or because `connection` (the Connection field's value, may be
// empty) names it.
bool EndsHere(std::string_view name, std::string_view connection);

}  // namespace credbroker::wire
