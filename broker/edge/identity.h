#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/placement.h"
#include "wire/http_head.h"

namespace credbroker::edge {

// Finding our token among what a client sends. Nothing here proves it; gate::Gate::Identify does.

// The token in Proxy-Authorization: Basic (as password or user), Bearer, token. Empty when the field is absent. Fails
// kBadToken when the field is there and holds no token of ours.
absl::StatusOr<std::string> ProxyToken(const wire::RequestHead& head);

// The token in a field that clients use for credentials (Authorization and the key fields of wire/hop.h). Other
// credentials are not looked at here: they are dropped on managed hosts. Empty when there is none. Fails kAmbiguousToken
// when two different tokens are shown.
absl::StatusOr<std::string> RequestToken(const wire::RequestHead& head);

// The token in one of the places where the service's credentials go: a header of its own, a cookie, a query parameter
// (`query` with its `?`, as in Request). Empty when there is none. Fails kAmbiguousToken when they show two.
absl::StatusOr<std::string> PlacedToken(const wire::RequestHead& head, std::string_view query, std::span<const model::Placement> places);

// The value of the one field in which this request shows a credential, Proxy-* aside; empty when there is none or more
// than one.
std::string_view SoleCredentialField(const wire::RequestHead& head);

// True when a token of ours stands where none is ever exchanged: the target, or a field that carries no credential
// (B15). Such a request is refused, so that tokens end in no log of others. `places`: of the service, see PlacedToken.
bool HasMisplacedToken(const wire::RequestHead& head, std::string_view query, std::span<const model::Placement> places);

}  // namespace credbroker::edge
