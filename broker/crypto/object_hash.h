#pragma once

#include <string>
#include <string_view>

namespace credbroker::crypto {

// The digests by which git names objects. SHA-1 is here for that alone: it proves nothing against somebody who makes
// collisions, so nothing is trusted on its account beyond what the git host, which uses the same names, would do.
enum class ObjectFormat { kSha1, kSha256 };

// One digest. Aborts when OpenSSL cannot compute it, which a build or a policy without SHA-1 would cause. Not
// thread-safe.
class ObjectHash {
 public:
  explicit ObjectHash(ObjectFormat format);
  ~ObjectHash();
  ObjectHash(const ObjectHash&) = delete;
  ObjectHash& operator=(const ObjectHash&) = delete;

  void Add(std::string_view bytes);
  // The digest, raw: 20 or 32 bytes. Call once, at the end.
  std::string Take();

 private:
  void* context_;
};

}  // namespace credbroker::crypto
