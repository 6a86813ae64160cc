#include "vault/envelope.h"

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::vault {
namespace {

constexpr std::size_t kWrappedKeyBytes = crypto::kSealOverheadBytes + crypto::kSealKeyBytes;

std::string KeyLabel(std::string_view what) { return base::StrCat("key:", what); }
std::string ValueLabel(std::string_view what) { return base::StrCat("value:", what); }

absl::StatusOr<base::Secret> OpenDataKey(const crypto::SealKey& master, std::string_view envelope,
                                         std::string_view what) {
  if (envelope.size() < kWrappedKeyBytes) return base::Error(base::ErrorCode::kSealBroken, "too short");
  return crypto::Open(master, envelope.substr(0, kWrappedKeyBytes), KeyLabel(what));
}

}  // namespace

std::string SealEnvelope(const crypto::SealKey& master, const base::Secret& value, std::string_view what) {
  const crypto::SealKey data_key = crypto::SealKey::Generate();
  return base::StrCat(crypto::Seal(master, data_key.Bytes(), KeyLabel(what)),
                      crypto::Seal(data_key, value, ValueLabel(what)));
}

absl::StatusOr<base::Secret> OpenEnvelope(const crypto::SealKey& master, std::string_view envelope,
                                          std::string_view what) {
  ASSIGN_OR_RETURN(const base::Secret bytes, OpenDataKey(master, envelope, what));
  ASSIGN_OR_RETURN(const crypto::SealKey data_key, crypto::SealKey::FromBytes(bytes));
  return crypto::Open(data_key, envelope.substr(kWrappedKeyBytes), ValueLabel(what));
}

absl::StatusOr<std::string> RewrapEnvelope(const crypto::SealKey& from, const crypto::SealKey& to,
                                           std::string_view envelope, std::string_view what) {
  ASSIGN_OR_RETURN(const base::Secret bytes, OpenDataKey(from, envelope, what));
  return base::StrCat(crypto::Seal(to, bytes, KeyLabel(what)), envelope.substr(kWrappedKeyBytes));
}

}  // namespace credbroker::vault
