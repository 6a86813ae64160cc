#include <zlib.h>

#include <array>
#include <vector>

#include "base/str.h"
#include "base/text.h"
#include "base/error.h"
#include "fuzz_bytes.h"
#include "wire/git_delta.h"
#include "wire/pack_commits.h"

using namespace credbroker;
using fuzz::Require;

namespace {

constexpr wire::PackLimits kLimits{.max_objects = 200,
                                   .max_inflated_bytes = 4 << 20,
                                   .max_commit_bytes = 16 * 1024,
                                   .max_kept_bytes = 64 * 1024,
                                   .max_delta_depth = 4,
                                   .max_steps = uint64_t{1} << 40};

std::string Digest(wire::ObjectFormat format, std::string_view bytes) {
  crypto::ObjectHash hash(format);
  hash.Add(bytes);
  return hash.Take();
}

// input := (type u8, argument u8, size u8, content)*, which becomes a pack with a right head and sound zlib data. The
// argument of an offset delta is the distance, that of a delta by id says which of the commits so far is the base.
std::string Assemble(std::string_view input, wire::ObjectFormat format, std::vector<std::string>* ids) {
  std::string objects;
  unsigned char count = 0;
  for (; input.size() > 3 && count < 24; ++count) {
    const auto type = static_cast<unsigned char>(input[0]) & 7;
    const auto argument = static_cast<unsigned char>(input[1]);
    const std::string_view content = input.substr(3, static_cast<unsigned char>(input[2]));
    input.remove_prefix(3 + content.size());
    std::string id = Digest(format, base::StrCat("commit ", content.size(), '\0', content));
    objects.push_back(static_cast<char>(0x80 | type << 4 | (content.size() & 15)));
    objects.push_back(static_cast<char>(content.size() >> 4));
    if (type == 6) objects.push_back(static_cast<char>(argument & 0x7F));
    if (type == 7) objects.append(ids->empty() ? id : (*ids)[argument % ids->size()]);
    if (type == 1) ids->push_back(std::move(id));
    std::array<Bytef, 512> packed;
    uLongf size = packed.size();
    Require(compress(packed.data(), &size, reinterpret_cast<const Bytef*>(content.data()), content.size()) == Z_OK);
    objects.append(reinterpret_cast<const char*>(packed.data()), size);
  }
  return base::StrCat(std::string_view("PACK\0\0\0\2\0\0\0", 11), static_cast<char>(count), objects);
}

absl::Status Read(wire::PackCommits& commits, std::string_view pack, std::size_t step) {
  for (std::size_t at = 0; at < pack.size(); at += step) {
    const absl::Status status = commits.Feed(pack.substr(at, step));
    if (!status.ok()) return status;
  }
  return commits.Finish();
}

}  // namespace

// One outcome however the pack is cut; no commit is its own ancestor, nor is one of two the other's both ways; nothing
// is proven by a pack that failed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto format = (data[0] & 1) != 0 ? wire::ObjectFormat::kSha256 : wire::ObjectFormat::kSha1;
  const std::string_view input = fuzz::View(data + 1, size - 1);
  std::vector<std::string> ids;
  std::string pack = (data[0] & 4) != 0 ? Assemble(input, format, &ids) : std::string(input);
  if ((data[0] & 2) != 0) pack.append(Digest(format, pack));

  wire::PackCommits whole(format, kLimits), cut(format, kLimits);
  const absl::Status status = Read(whole, pack, pack.size() + 1);
  const absl::Status again = Read(cut, pack, pack.size() / 64 + 1);
  Require(base::CodeOf(status) == base::CodeOf(again));
  Require(whole.commit_count() * 100 <= kLimits.max_kept_bytes);
  ids.emplace_back(format == wire::ObjectFormat::kSha1 ? 20 : 32, '\x11');
  for (const std::string& a : ids) {
    for (const std::string& b : ids) {
      const std::string newer = base::HexEncode(a), older = base::HexEncode(b);
      const bool proven = whole.Descends(newer, older);
      Require(proven == cut.Descends(newer, older));
      Require(!proven || (status.ok() && a != b && !whole.Descends(older, newer)));
    }
  }

  std::string out;
  const std::size_t half = input.size() / 2;
  wire::ApplyGitDelta(input.substr(half), input.substr(0, half), 4096, &out);
  Require(out.size() <= 4096);
  return 0;
}
