#include "evidence/archive.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

// ustar header, 512 bytes: name 100 | mode 8 | uid 8 | gid 8 | size 12 | mtime 12 | checksum 8 | type 1 | link 100 |
// magic "ustar\0" 6 | version "00" 2 | names and devices, zero here. Numbers are octal. Content is padded to 512 bytes; two
// zero blocks end the file.
namespace credbroker::evidence {
namespace {

using base::ErrorCode;

constexpr std::size_t kBlock = 512;
constexpr std::size_t kMaxArchive = 64 << 20;
constexpr std::size_t kMaxParts = 1000;
constexpr std::size_t kMaxName = 99;

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

std::string Header(const Part& part) {
  std::string head(kBlock, '\0');
  std::memcpy(head.data(), part.name.data(), std::min(part.name.size(), kMaxName));
  std::memcpy(&head[100], "0000644", 7);
  std::memcpy(&head[108], "0000000", 7);
  std::memcpy(&head[116], "0000000", 7);
  std::snprintf(&head[124], 12, "%011zo", part.content.size());
  std::memcpy(&head[136], "00000000000", 11);
  std::memset(&head[148], ' ', 8);
  head[156] = '0';
  std::memcpy(&head[257], "ustar\0" "00", 8);
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  std::snprintf(&head[148], 8, "%06o", sum);
  return head;
}

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBundleInvalid, base::StrCat("no bundle: ", why)); }

absl::StatusOr<std::size_t> Size(std::string_view digits) {
  std::size_t size = 0;
  for (const char c : digits.substr(0, 11)) {
    if (c < '0' || c > '7') return Bad("a size that is no number");
    size = size * 8 + static_cast<std::size_t>(c - '0');
  }
  return size;
}

}  // namespace

std::string PackTar(const std::vector<Part>& parts) {
  std::string out;
  for (const Part& part : parts) {
    out += Header(part);
    out += part.content;
    out.append((kBlock - part.content.size() % kBlock) % kBlock, '\0');
  }
  return out.append(2 * kBlock, '\0');
}

absl::StatusOr<std::vector<Part>> UnpackTar(std::string_view bytes) {
  if (bytes.size() > kMaxArchive) return Bad("larger than 64 MiB");
  std::vector<Part> parts;
  std::set<std::string, std::less<>> names;
  std::string_view rest = bytes;
  while (rest.size() >= kBlock && rest.front() != '\0') {
    Part part;
    part.name = std::string(rest.substr(0, std::min<std::size_t>(rest.find('\0'), 100)));
    if (!IsName(part.name) || !names.insert(part.name).second) return Bad("a name that is not ours, or twice");
    ASSIGN_OR_RETURN(const std::size_t size, Size(rest.substr(124, 12)));
    const std::size_t padded = (size + kBlock - 1) / kBlock * kBlock;
    if (size > kMaxArchive || rest.size() < kBlock + padded) return Bad(base::StrCat(part.name, " is cut"));
    part.content = std::string(rest.substr(kBlock, size));
    rest.remove_prefix(kBlock + padded);
    parts.push_back(std::move(part));
    if (parts.size() > kMaxParts) return Bad("more than 1,000 parts");
  }
  // Only what PackTar writes: nothing hides in headers, padding or behind the end.
  if (parts.empty() || PackTar(parts) != bytes) return Bad("bytes that a bundle does not have");
  return parts;
}

}  // namespace credbroker::evidence
