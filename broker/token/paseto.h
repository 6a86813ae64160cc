#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "crypto/sign.h"

// PASETO version 4, purpose "public" (github.com/paseto-standard/paseto-spec), the verifying half.
namespace credbroker::token {

inline constexpr std::string_view kPasetoHeader = "v4.public.";

// The pieces of a token before anything is proved. `footer` is decoded; use it to look a key up and for nothing else.
struct PasetoParts {
  std::string payload;
  std::string signature;  // 64 bytes
  std::string footer;     // empty when the token has none
};

// token := "v4.public." base64url(payload | signature[64]) [ "." base64url(footer) ]
// Strict: exactly three or four parts, canonical base64url without padding, no empty footer part. Fails kBadToken.
absl::StatusOr<PasetoParts> SplitPaseto(std::string_view text);

// What is signed: PAE(header, payload, footer, implicit assertion).
std::string SignedMessage(std::string_view payload, std::string_view footer, std::string_view assertion);

// Pre-authentication encoding: LE64(count) then LE64(length) and bytes of each piece.
std::string PreAuthEncode(std::initializer_list<std::string_view> pieces);

// The payload of a token whose signature holds under `key` with exactly this footer and implicit assertion. The
// footer is compared in constant time before the signature is looked at. Fails kBadToken.
absl::StatusOr<std::string> VerifyPaseto(const crypto::VerifyKey& key, std::string_view text, std::string_view footer,
                                         std::string_view assertion);

// PASERK key id, `k4.pid.` and 44 characters. `public_key` is any 32 bytes, otherwise fails kBadArgument.
absl::StatusOr<std::string> KeyId(std::string_view public_key);

// The footer of our tokens: {"kid":"k4.pid...."}.
std::string KeyFooter(const crypto::VerifyKey& key);

}  // namespace credbroker::token
