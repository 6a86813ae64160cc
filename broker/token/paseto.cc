#include "token/paseto.h"

#include <cstdint>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "crypto/hash.h"

namespace credbroker::token {
namespace {

absl::Status BadToken(std::string_view why) { return base::Error(base::ErrorCode::kBadToken, why); }

void AppendLe64(std::string* out, uint64_t number) {
  number &= ~(uint64_t{1} << 63);  // the specification keeps the top bit clear, for languages without unsigned
  for (int shift = 0; shift < 64; shift += 8) out->push_back(static_cast<char>(number >> shift & 0xff));
}

}  // namespace

std::string PreAuthEncode(std::initializer_list<std::string_view> pieces) {
  std::string out;
  AppendLe64(&out, pieces.size());
  for (const std::string_view piece : pieces) {
    AppendLe64(&out, piece.size());
    out.append(piece);
  }
  return out;
}

std::string SignedMessage(std::string_view payload, std::string_view footer, std::string_view assertion) {
  return PreAuthEncode({kPasetoHeader, payload, footer, assertion});
}

absl::StatusOr<PasetoParts> SplitPaseto(std::string_view text) {
  if (!text.starts_with(kPasetoHeader)) return BadToken("not a v4.public token");
  text.remove_prefix(kPasetoHeader.size());
  const std::size_t dot = text.find('.');
  PasetoParts parts;
  if (dot != std::string_view::npos) {
    // A dot is no base64url digit, so a fifth part fails here too.
    const std::string_view footer = text.substr(dot + 1);
    if (footer.empty() || !base::Base64UrlDecode(footer, &parts.footer)) return BadToken("the footer is malformed");
  }
  if (!base::Base64UrlDecode(text.substr(0, dot), &parts.payload)) return BadToken("the payload is not base64url");
  if (parts.payload.size() < crypto::kEd25519SignatureBytes) return BadToken("too short for a signature");
  const std::size_t end = parts.payload.size() - crypto::kEd25519SignatureBytes;
  parts.signature = parts.payload.substr(end);
  parts.payload.resize(end);
  return parts;
}

absl::StatusOr<std::string> VerifyPaseto(const crypto::VerifyKey& key, std::string_view text, std::string_view footer,
                                         std::string_view assertion) {
  ASSIGN_OR_RETURN(PasetoParts parts, SplitPaseto(text));
  if (!crypto::EqualConstantTime(parts.footer, footer)) return BadToken("another footer");
  if (!key.Verify(SignedMessage(parts.payload, footer, assertion), parts.signature)) {
    return BadToken("the signature does not verify");
  }
  return std::move(parts.payload);
}

absl::StatusOr<std::string> KeyId(std::string_view public_key) {
  if (public_key.size() != crypto::kEd25519PublicKeyBytes) {
    return base::Error(base::ErrorCode::kBadArgument, "a public key has 32 bytes");
  }
  // PASERK: id = header | base64url(BLAKE2b-33(header | "k4.public." base64url(key)))
  constexpr std::string_view kHeader = "k4.pid.";
  const std::string named = base::StrCat(kHeader, "k4.public.", base::Base64UrlEncode(public_key));
  return base::StrCat(kHeader, base::Base64UrlEncode(crypto::Blake2b(named, 33)));
}

std::string KeyFooter(const crypto::VerifyKey& key) { return base::StrCat("{\"kid\":\"", *KeyId(key.bytes()), "\"}"); }

}  // namespace credbroker::token
