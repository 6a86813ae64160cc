#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace credbroker::wire {

// Parameters that must be told apart, ours included; ParseQuery refuses more.
inline constexpr std::size_t kMaxQueryParameters = 256;

// One query parameter. Values may hold secrets: compare them, never log them.
struct QueryParameter {
  std::string name;            // percent-decoded, '+' read as space
  std::string_view raw;        // `name=value` as sent
  std::string_view raw_value;  // behind the first '=', as sent
};

// The parameters in order, split at '&'; empty ones are left out. Fails with kMalformedHttp on broken percent
// encoding in a name, or with more than 256 parameters. Views into `query`.
absl::StatusOr<std::vector<QueryParameter>> ParseQuery(std::string_view query);

// The decoded value of `name`, none if it is absent. Fails with kMalformedHttp if it is there twice (two readers may
// take different ones) or its encoding is broken.
absl::StatusOr<std::optional<std::string>> QueryValue(std::string_view query, std::string_view name);

// The names for the audit record: decoded, sorted, each once. A ';' counts as a separator too, since some servers split
// there. Broken names appear as sent.
std::vector<std::string> QueryNames(std::string_view query);

// True if a parameter, split at '&' or ';', has a name that carries credentials (IsCredentialQueryName), or a name that
// cannot be decoded. `granted`, when not empty, is the name under which a credential of ours will be put in: such a
// parameter does not count, since it is replaced, but does when a ';' makes readers differ about where it ends. Looks at
// all of the query, however many parameters there are.
bool HasCredentialQuery(std::string_view query, std::string_view granted = {});

// Percent-decodes once; false on a broken encoding. `+` stays as it is.
bool PercentDecode(std::string_view text, std::string* out);
// Encodes all but the unreserved characters, upper-case digits.
std::string PercentEncode(std::string_view bytes);

}  // namespace credbroker::wire
