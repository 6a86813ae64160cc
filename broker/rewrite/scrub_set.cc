#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/macros.h"
#include "reveal/secret_reveal.h"
#include "rewrite/needles.h"
#include "rewrite/scrub.h"

namespace credbroker::rewrite {
namespace {

constexpr std::size_t kMaxSecretBytes = 64 * 1024;
constexpr std::size_t kRevealingBytes = 8;

unsigned char Byte(char c) { return static_cast<unsigned char>(c); }

// Three bytes, not two: base64 text uses most pairs, which would keep the window from jumping.
template <int kBits>
std::size_t Hash(const char* p) {
  const std::uint32_t word = static_cast<std::uint32_t>(Byte(p[0])) | static_cast<std::uint32_t>(Byte(p[1])) << 8 |
                             static_cast<std::uint32_t>(Byte(p[2])) << 16;
  return (word * 2654435761U) >> (32 - kBits);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ScrubSet>> ScrubSet::Make(const std::vector<ScrubSecret>& secrets) {
  std::vector<std::string> texts;
  for (const ScrubSecret& entry : secrets) {
    const std::string_view bytes = entry.secret->Reveal(base::SecretReveal{});
    if (bytes.size() < kMinNeedleBytes || bytes.size() > kMaxSecretBytes) {
      for (std::string& text : texts) base::WipeString(text);
      return base::Error(base::ErrorCode::kSecretInvalid, "a secret to scrub is too short or too long");
    }
    AppendNeedles(bytes, entry.basic_username, &texts);
  }
  std::shared_ptr<ScrubSet> set(new ScrubSet());
  set->Index(std::move(texts));
  return set;
}

std::shared_ptr<const ScrubSet> ScrubSet::Empty() { return std::shared_ptr<const ScrubSet>(new ScrubSet()); }

std::string_view ScrubSet::Text(const Needle& needle) const {
  return blob_.Reveal(base::SecretReveal{}).substr(needle.offset, needle.length);
}

void ScrubSet::Index(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end(), [](const std::string& a, const std::string& b) {
    if (Byte(a.front()) != Byte(b.front())) return Byte(a.front()) < Byte(b.front());
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  const std::size_t total = std::accumulate(texts.begin(), texts.end(), std::size_t{0},
                                            [](std::size_t n, const std::string& t) { return n + t.size(); });
  std::string blob;
  blob.reserve(total);
  window_ = texts.empty() ? 0 : kMaxSecretBytes * 8;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0 && texts[i] == texts[i - 1]) continue;
    needles_.push_back({blob.size(), texts[i].size()});
    blob.append(texts[i]);
    window_ = std::min(window_, texts[i].size());
    longest_ = std::max(longest_, texts[i].size());
  }
  for (std::string& text : texts) base::WipeString(text);
  blob_ = base::Secret::Take(std::move(blob));

  for (const Needle& needle : needles_) ++first_[Byte(Text(needle).front()) + std::size_t{1}];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  if (needles_.empty()) return;

  // Neighbours in the order begin alike.
  for (std::size_t i = 0; i < needles_.size(); ++i) prefixes_.Add(Text(needles_[i]), i * PrefixScan::kGroups / needles_.size());

  // shift_[h] := how far the window may move when its last three bytes have hash h; 0: a needle may start here.
  const std::size_t farthest = std::min<std::size_t>(window_ - 2, 255);
  shift_.fill(static_cast<std::uint8_t>(farthest));
  for (const Needle& needle : needles_) {
    const std::string_view text = Text(needle).substr(0, window_);
    for (std::size_t i = 0; i + 3 <= text.size(); ++i) {
      std::uint8_t& shift = shift_[Hash<kHashBits>(text.data() + i)];
      shift = static_cast<std::uint8_t>(std::min<std::size_t>(shift, text.size() - 3 - i));
    }
  }
}

std::size_t ScrubSet::LongestAt(std::string_view bytes, std::size_t at) const {
  const std::string_view rest = bytes.substr(at);
  const std::size_t first = Byte(rest.front());
  for (std::size_t i = first_[first]; i < first_[first + 1]; ++i) {
    if (rest.starts_with(Text(needles_[i]))) return needles_[i].length;
  }
  return 0;
}

ScrubSet::Match ScrubSet::Find(std::string_view bytes, std::size_t from) const {
  if (window_ == 0) return {};
  while (prefixes_.usable() && from + PrefixScan::kEdgeBytes <= bytes.size()) {
    const std::size_t at = prefixes_.Next(bytes, from);
    if (at + PrefixScan::kEdgeBytes > bytes.size()) return FindByWindow(bytes, at);
    if (const std::size_t length = LongestAt(bytes, at); length > 0) return {at, length};
    from = at + 1;
  }
  return FindByWindow(bytes, from);
}

ScrubSet::Match ScrubSet::FindByWindow(std::string_view bytes, std::size_t from) const {
  const char* const data = bytes.data();
  for (std::size_t at = from; at + window_ <= bytes.size();) {
    const std::size_t shift = shift_[Hash<kHashBits>(data + at + window_ - 3)];
    if (shift > 0) {
      at += shift;
      continue;
    }
    if (const std::size_t length = LongestAt(bytes, at); length > 0) return {at, length};
    ++at;
  }
  return {};
}

ScrubSet::Tail ScrubSet::FindTail(std::string_view bytes) const {
  Tail tail{bytes.size(), false};
  if (needles_.empty()) return tail;
  for (std::size_t at = bytes.size() - std::min(bytes.size(), max_held()); at < bytes.size(); ++at) {
    const std::string_view rest = bytes.substr(at);
    const std::size_t first = Byte(rest.front());
    // Longest first: the loop ends where the needles are no longer than what is left.
    for (std::size_t i = first_[first]; i < first_[first + 1] && needles_[i].length > rest.size(); ++i) {
      if (!Text(needles_[i]).starts_with(rest)) continue;
      tail.start = std::min(tail.start, at);
      tail.revealing = tail.revealing || rest.size() >= kRevealingBytes || rest.size() * 2 >= needles_[i].length;
    }
    if (tail.start < bytes.size()) return tail;
  }
  return tail;
}

std::size_t ScrubSet::SafePrefix(std::string_view bytes) const {
  return std::min({bytes.size(), Find(bytes, 0).start, FindTail(bytes).start});
}

}  // namespace credbroker::rewrite
