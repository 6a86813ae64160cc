#include "vault/master_key.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "reveal/secret_reveal.h"

namespace credbroker::vault {
namespace {

constexpr std::size_t kMaxFile = 4096;
constexpr std::size_t kMinPassphrase = 12;

bool Missing(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) != 0 && errno == ENOENT;
}

absl::StatusOr<crypto::SealKey> ParseHexKey(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  std::string bytes;
  const bool hex = text.size() == 2 * crypto::kSealKeyBytes && base::HexDecode(text, &bytes);
  if (!hex) return base::Error(base::ErrorCode::kConfigInvalid, "a master key is 64 hexadecimal digits");
  return crypto::SealKey::FromBytes(base::Secret::Take(std::move(bytes)));
}

absl::Status WriteNewKey(const std::string& path) {
  std::string raw(crypto::SealKey::Generate().Bytes().Reveal(base::SecretReveal{}));
  std::string text = base::HexEncode(raw);
  base::WipeString(raw);
  text.push_back('\n');
  absl::Status status = base::WriteFileAtomic(path, text, 0600);
  base::WipeString(text);
  return status;
}

}  // namespace

absl::StatusOr<crypto::SealKey> MasterKeyFile::Load(std::string_view, FirstStart first_start) const {
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash);
  if (Missing(path_)) {
    if (first_start == FirstStart::kNo) {
      return base::Error(base::ErrorCode::kSealBroken, base::StrCat("the master key is missing: ", path_));
    }
    RETURN_IF_ERROR(base::MakeFolder(folder, 0700), "the folder of keys");
    RETURN_IF_ERROR(WriteNewKey(path_), "making the master key");
  }
  RETURN_IF_ERROR(base::CheckOwnership(folder, base::Privacy::kReadableByOthers), "the folder of keys");
  RETURN_IF_ERROR(base::CheckOwnership(path_, base::Privacy::kPrivate), "the master key");
  ASSIGN_OR_RETURN(std::string text, base::ReadFile(path_, kMaxFile), "the master key");
  const base::Secret secret = base::Secret::Take(std::move(text));
  return ParseHexKey(secret.Reveal(base::SecretReveal{}));
}

absl::StatusOr<crypto::SealKey> SystemdCredential::Load(std::string_view, FirstStart) const {
  if (folder_.empty()) {
    return base::Error(base::ErrorCode::kConfigInvalid, "systemd passed no credentials (CREDENTIALS_DIRECTORY)");
  }
  const std::string path = base::StrCat(folder_, "/", name_);
  if (name_.empty() || name_.find('/') != std::string::npos || Missing(path)) {
    return base::Error(base::ErrorCode::kSealBroken,
                       base::StrCat("systemd passed no credential of this name: ", name_));
  }
  ASSIGN_OR_RETURN(std::string text, base::ReadFile(path, kMaxFile), "the master key");
  const base::Secret secret = base::Secret::Take(std::move(text));
  if (secret.size() == crypto::kSealKeyBytes) return crypto::SealKey::FromBytes(secret);
  return ParseHexKey(secret.Reveal(base::SecretReveal{}));
}

absl::StatusOr<crypto::SealKey> Passphrase::Load(std::string_view salt, FirstStart) const {
  if (passphrase_.size() < kMinPassphrase) {
    return base::Error(base::ErrorCode::kSecretInvalid, "a passphrase has at least 12 bytes");
  }
  return crypto::DeriveKey(passphrase_, salt, cost_);
}

}  // namespace credbroker::vault
