#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "base/text.h"
#include "crypto/object_hash.h"

namespace credbroker::wire {

inline std::string Deflated(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 1);
  out.resize(size);
  return out;
}

inline std::string Digest(crypto::ObjectFormat format, std::string_view bytes) {
  crypto::ObjectHash hash(format);
  hash.Add(bytes);
  return hash.Take();
}

inline std::string CommitId(std::string_view content, crypto::ObjectFormat format = crypto::ObjectFormat::kSha1) {
  const std::string head = base::StrCat("commit ", content.size(), '\0');
  return base::HexEncode(Digest(format, base::StrCat(head, content)));
}

inline std::string CommitText(const std::vector<std::string>& parents, std::string_view message,
                              std::size_t id_digits = 40) {
  std::string text = base::StrCat("tree ", std::string(id_digits, 'a'), "\n");
  for (const std::string& parent : parents) base::StrAppend(&text, "parent ", parent, "\n");
  return base::StrCat(text, "author a <a@host.test> 1 +0000\ncommitter a <a@host.test> 1 +0000\n\n", message);
}

// A delta that inserts all of `result`.
inline std::string InsertDelta(std::size_t base_size, std::string_view result) {
  std::string out;
  for (std::size_t size : {base_size, result.size()}) {
    for (; size > 127; size >>= 7) out.push_back(static_cast<char>(size | 0x80));
    out.push_back(static_cast<char>(size));
  }
  for (; !result.empty(); result.remove_prefix(std::min<std::size_t>(127, result.size()))) {
    const std::string_view piece = result.substr(0, 127);
    base::StrAppend(&out, static_cast<char>(piece.size()), piece);
  }
  return out;
}

// Writes packs object by object, wrong ones too. Each Add returns the object's offset.
class PackBuilder {
 public:
  static constexpr int kCommit = 1, kBlob = 3, kOffsetDelta = 6, kIdDelta = 7;

  explicit PackBuilder(crypto::ObjectFormat format = crypto::ObjectFormat::kSha1, uint32_t version = 2)
      : format_(format), body_(Word(version)) {}

  std::size_t Add(int type, std::string_view content) { return AddRaw(Head(type, content.size()), Deflated(content)); }
  std::size_t AddOffsetDelta(std::size_t distance, std::string_view delta) {
    std::string varint(1, static_cast<char>(distance & 127));
    while (distance >>= 7) varint.insert(varint.begin(), static_cast<char>(0x80 | (--distance & 127)));
    return AddRaw(Head(kOffsetDelta, delta.size()) + varint, Deflated(delta));
  }
  std::size_t AddIdDelta(std::string_view base_id, std::string_view delta) {
    std::string raw;
    base::HexDecode(base_id, &raw);
    return AddRaw(Head(kIdDelta, delta.size()) + raw, Deflated(delta));
  }
  std::size_t AddRaw(std::string_view head, std::string_view data) {
    const std::size_t at = Here();
    base::StrAppend(&body_, head, data);
    ++count_;
    return at;
  }
  // The offset of the next object.
  std::size_t Here() const { return 8 + body_.size(); }

  // `lie` is added to the count.
  std::string Bytes(int lie = 0) const {
    return Signed(base::StrCat("PACK", body_.substr(0, 4), Word(count_ + lie), body_.substr(4)));
  }
  std::string Signed(std::string_view bytes) const { return base::StrCat(bytes, Digest(format_, bytes)); }

  static std::string Head(int type, uint64_t size) {
    std::string head(1, static_cast<char>(type << 4 | (size & 15)));
    for (size >>= 4; size != 0; size >>= 7) {
      head.back() = static_cast<char>(head.back() | 0x80);
      head.push_back(static_cast<char>(size & 127));
    }
    return head;
  }

 private:
  static std::string Word(uint32_t value) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
    return out;
  }

  const crypto::ObjectFormat format_;
  std::string body_;  // the version and the objects
  uint32_t count_ = 0;
};

}  // namespace credbroker::wire
