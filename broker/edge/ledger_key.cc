#include "edge/ledger_key.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/macros.h"
#include "base/secret.h"
#include "base/text.h"
#include "reveal/secret_reveal.h"

namespace credbroker::edge {

absl::StatusOr<crypto::SigningKey> LoadOrMakeLedgerKey(const std::string& data_dir) {
  const std::string path = data_dir + "/ledger.key";
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    crypto::SigningKey key = crypto::SigningKey::Generate();
    const base::Secret seed = key.Seed();
    std::string text = base::HexEncode(seed.Reveal(base::SecretReveal{}));
    const absl::Status status = base::WriteFileAtomic(path, text, 0600);
    base::WipeString(text);
    RETURN_IF_ERROR(status, "writing the ledger key");
    return key;
  }
  RETURN_IF_ERROR(base::CheckOwnership(path, base::Privacy::kPrivate), "reading the ledger key");
  ASSIGN_OR_RETURN(std::string text, base::ReadFile(path, 1024), "reading the ledger key");
  std::string seed;
  const bool hex = base::HexDecode(text, &seed);
  base::WipeString(text);
  if (!hex) return base::Error(base::ErrorCode::kFileUnreadable, path + ": not a key");
  return crypto::SigningKey::FromSeed(base::Secret::Take(std::move(seed)));
}

}  // namespace credbroker::edge
