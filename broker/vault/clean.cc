#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "reveal/secret_reveal.h"
#include "vault/vault.h"

namespace credbroker::vault {
namespace {

absl::Status Invalid(std::string_view why) { return base::Error(base::ErrorCode::kSecretInvalid, why); }

// What rewrite/scrub.h can look for.
constexpr std::size_t kMinSecretBytes = 4;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool IsLineBreak(char c) { return c == '\n' || c == '\r'; }

bool IsPem(std::string_view text) { return text.starts_with("-----BEGIN "); }

// In valid JSON raw control bytes stand between values only, so taking them out changes nothing.
bool IsJsonDocument(std::string_view text) {
  return text.starts_with('{') && text.ends_with('}') && nlohmann::json::accept(text.begin(), text.end());
}

}  // namespace

absl::StatusOr<base::Secret> CleanSecret(const base::Secret& value) {
  if (value.size() > kMaxSecretBytes) return base::Error(base::ErrorCode::kTooLarge, "a secret has at most 64 KiB");
  std::string_view text = value.Reveal(base::SecretReveal{});
  while (!text.empty() && IsLineBreak(text.back())) text.remove_suffix(1);
  const bool pem = IsPem(text);
  const bool json = !pem && IsJsonDocument(text);
  std::string kept;
  kept.reserve(text.size());  // one allocation, so that no unwiped copy is left behind
  for (const char c : text) {
    const bool droppable = (pem && c == '\r') || (json && IsControl(c));
    if (!droppable) kept.push_back(c);
  }
  const bool odd = std::any_of(kept.begin(), kept.end(), [&](char c) { return IsControl(c) && !(pem && c == '\n'); });
  base::Secret clean = base::Secret::Take(std::move(kept));
  if (odd) return Invalid("it holds a line break or another control byte");
  if (clean.empty()) return Invalid("it is empty");
  if (clean.size() < kMinSecretBytes) return Invalid("it is so short that it could not be kept out of replies");
  return clean;
}

}  // namespace credbroker::vault
