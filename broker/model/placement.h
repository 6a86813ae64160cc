#pragma once

#include <string>

namespace credbroker::model {

// The one place of a request that a credential goes to. Nothing else of the request is ever filled in.
struct Placement {
  enum class Kind {
    kBasic,   // Authorization: Basic base64(username:secret)
    kHeader,  // `name: prefix secret`, for example Authorization with prefix "Bearer "
    kQuery,   // ?name=secret
    kCookie,  // Cookie: name=secret
  };
  Kind kind = Kind::kHeader;
  std::string name = "authorization";  // header (lower case), query parameter or cookie; unused for kBasic
  std::string prefix = "Bearer ";      // kHeader only
  std::string username;                // kBasic only
  bool operator==(const Placement&) const = default;
};

}  // namespace credbroker::model
