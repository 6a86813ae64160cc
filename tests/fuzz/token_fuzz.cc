// Any text as a token. The first byte chooses: the text as it came from a stranger, or as a payload that a holder of
// the key signed, so that what lies behind the signature is reached too.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/str.h"
#include "base/text.h"
#include "crypto/sign.h"
#include "token/paseto.h"
#include "token/placeholder.h"
#include "token/verify.h"

namespace {

using credbroker::base::Base64UrlEncode;
using credbroker::base::StrCat;

const credbroker::crypto::SigningKey& Key() {
  static const auto* const key = new credbroker::crypto::SigningKey(
      *credbroker::crypto::SigningKey::FromSeed(credbroker::base::Secret::Copy(std::string(32, '\x07'))));
  return *key;
}

std::string SignedText(std::string_view payload, const std::string& footer) {
  const std::string signature = Key().Sign(credbroker::token::SignedMessage(payload, footer, ""));
  return StrCat("cbt_v4.public.", Base64UrlEncode(StrCat(payload, signature)), ".", Base64UrlEncode(footer));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const std::string footer = credbroker::token::KeyFooter(Key().public_key());
  static const credbroker::token::Verifier verifier(credbroker::token::KeySet({Key().public_key()}), "install-1");
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  credbroker::token::IsPlaceholder(input);
  if (data[0] % 2 == 0) {
    const auto parts = credbroker::token::SplitPaseto(input);
    if (parts.ok() && parts->signature.size() != credbroker::crypto::kEd25519SignatureBytes) std::abort();
    verifier.Verify(input, now).IgnoreError();
    return 0;
  }
  const auto claims = verifier.Verify(SignedText(input, footer), now);
  if (!claims.ok()) return 0;
  if (claims->audience != "install-1" || claims->expires_at <= now) std::abort();
  if (credbroker::token::EncodeClaims(*claims).value() != input) std::abort();
  return 0;
}
