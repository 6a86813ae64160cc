#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/secret.h"
#include "rewrite/prefix_scan.h"

namespace credbroker::rewrite {

// What stands in the reply where a secret was: as many of these as the secret was long, so that the reply keeps its
// length and its framing.
inline constexpr char kCover = '*';

// A credential whose traces must not reach the sandbox.
struct ScrubSecret {
  const base::Secret* secret = nullptr;  // read while the set is made, not kept
  std::string basic_username;            // if it is sent as Basic: also look for base64(username:secret)
};

// The texts to look for: each secret as it is, in base64 and base64url at all three alignments, in hex, percent-encoded
// and JSON- or HTML-escaped, and each longer line of a secret of several lines. Built once per lease, then shared;
// immutable, so const use is thread-safe. Holds secrets: wiped when destroyed.
class ScrubSet {
 public:
  // Fails with kSecretInvalid for a secret below 4 bytes (it would match everywhere) or above 64 KiB.
  static absl::StatusOr<std::shared_ptr<const ScrubSet>> Make(const std::vector<ScrubSecret>& secrets);
  // A set that finds nothing.
  static std::shared_ptr<const ScrubSet> Empty();

  // How many leading bytes of `bytes` can be forwarded as they are: up to the first needle, or to a tail that may be
  // the start of one. Equal to bytes.size() in the common case. Above 5 GB/s on text without a hit where there is AVX2, 1 GB/s elsewhere.
  std::size_t SafePrefix(std::string_view bytes) const;

  bool empty() const { return needles_.empty(); }
  // The most that a Scrubber holds back: the longest needle less one.
  std::size_t max_held() const { return longest_ == 0 ? 0 : longest_ - 1; }

  struct Match {
    std::size_t start = std::string_view::npos;  // npos: none
    std::size_t length = 0;
  };
  // The leftmost needle that starts at or after `from`, the longest of those that start there.
  Match Find(std::string_view bytes, std::size_t from) const;

  struct Tail {
    std::size_t start = 0;   // where it starts; bytes.size() if there is none
    bool revealing = false;  // at least 8 bytes or half of a needle: too much to let out at the end of a stream
  };
  // The longest tail of `bytes` that is the start of a needle but not all of it.
  Tail FindTail(std::string_view bytes) const;

 private:
  struct Needle {
    std::size_t offset, length;  // into blob_
  };
  ScrubSet() = default;
  void Index(std::vector<std::string> texts);
  std::string_view Text(const Needle& needle) const;
  std::size_t LongestAt(std::string_view bytes, std::size_t at) const;
  Match FindByWindow(std::string_view bytes, std::size_t from) const;

  static constexpr int kHashBits = 13;
  base::Secret blob_;
  std::vector<Needle> needles_;             // by first byte, then longest first
  std::array<std::uint16_t, 257> first_{};  // needles that start with byte b: [first_[b], first_[b + 1])
  std::array<std::uint8_t, std::size_t{1} << kHashBits> shift_{};  // Wu and Manber: how far the window may move
  PrefixScan prefixes_;
  std::size_t window_ = 0;                                         // the shortest needle
  std::size_t longest_ = 0;
};

// Takes the needles of a set out of one stream, also across the borders of its pieces. As many bytes are passed on as
// came, later at most. Holds back only bytes that may be the start of a needle. One
// object per stream; not thread-safe.
class Scrubber {
 public:
  explicit Scrubber(std::shared_ptr<const ScrubSet> set) : set_(std::move(set)) {}
  ~Scrubber() { base::WipeString(held_); }
  Scrubber(const Scrubber&) = delete;
  Scrubber& operator=(const Scrubber&) = delete;

  // Appends what may be passed on.
  void Feed(std::string_view in, std::string* out);

  // The same without a copy in the common case: returns what may be passed on, either a part of `in` or all of
  // `scratch` (whose content is replaced). Valid while both stay unchanged.
  std::string_view Filter(std::string_view in, std::string* scratch);

  // At the end or on a failure of the stream: appends what is held, unless it is a telling part of a needle.
  void Finish(std::string* out);

  // How many places were replaced so far.
  std::size_t hits() const { return hits_; }
  std::size_t held_bytes() const { return held_.size(); }

 private:
  enum class Ending { kOpen, kLast };
  void Scan(std::string_view bytes, Ending ending, std::string* out);
  std::size_t Replace(std::string_view bytes, std::size_t start, std::size_t end, std::size_t done, std::string* out);

  std::shared_ptr<const ScrubSet> set_;
  std::string held_;          // a tail that may be the start of a needle
  std::size_t replaced_ = 0;  // so many bytes of held_ belong to a needle that was replaced already
  std::size_t hits_ = 0;
};

}  // namespace credbroker::rewrite
