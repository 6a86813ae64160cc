#include "crypto/object_hash.h"

#include <openssl/evp.h>

#include <array>
#include <cstdlib>

namespace credbroker::crypto {

ObjectHash::ObjectHash(ObjectFormat format) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* algorithm = format == ObjectFormat::kSha1 ? EVP_sha1() : EVP_sha256();
  // Goes on only with a digest: an id that was not computed must never compare equal to one.
  if (context_ == nullptr || EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), algorithm, nullptr) != 1)
    std::abort();
}

ObjectHash::~ObjectHash() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void ObjectHash::Add(std::string_view bytes) {
  if (EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) != 1) std::abort();
}

std::string ObjectHash::Take() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  if (EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), out.data(), &size) != 1) std::abort();
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

}  // namespace credbroker::crypto
