#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/secret.h"
#include "model/placement.h"

namespace credbroker::rewrite {

// Puts a credential into the one place that the policy names. Everything is checked before a byte is written, and a
// value that could end its field is refused with kSecretInvalid (control bytes, bytes above 0x7E, an empty value; in
// a cookie also the separators; a colon in the Basic user name). `out` is grown without leaving a copy of its old
// bytes behind; the caller wipes it once it is sent.

// Appends the whole header line, CRLF included: `authorization: Basic ...`, `x-api-key: ...`, `cookie: s=...`. The
// caller has left out every field of that name. kInternal for a query placement.
absl::Status AppendCredentialHeader(const model::Placement& placement, const base::Secret& secret, std::string* out);

// Appends `resource` (path and query) with the credential as its last query parameter; parameters of that name that
// were there are left out. For other placements appends `resource` as it is.
absl::Status AppendTargetWithCredential(const model::Placement& placement, const base::Secret& secret,
                                        std::string_view resource, std::string* out);

// The header name that the placement writes, in lower case; empty for a query placement.
std::string PlacedHeaderName(const model::Placement& placement);

}  // namespace credbroker::rewrite
