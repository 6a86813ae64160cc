#include <zlib.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/str.h"
#include "fuzz_bytes.h"
#include "wire/host_fetch.h"
#include "wire/pack_store.h"
#include "wire/push_walk.h"

using namespace credbroker;
using fuzz::Require;

namespace {

constexpr wire::PackStoreLimits kLimits{
    .max_objects = 200, .max_work_bytes = 4 << 20, .max_object_bytes = 64 * 1024, .max_cached_bytes = 16 * 1024, .max_delta_depth = 4};
constexpr std::string_view kTypes[8] = {"", "commit", "tree", "blob", "tag", "", "", ""};

std::string Digest(wire::ObjectFormat format, std::string_view bytes) {
  crypto::ObjectHash hash(format);
  hash.Add(bytes);
  return hash.Take();
}

class Memory final : public wire::ByteStore {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes) {}
  bool ReadAt(uint64_t offset, char* out, std::size_t size) override {
    if (offset > bytes_.size() || bytes_.size() - offset < size) return false;
    std::memcpy(out, bytes_.data() + offset, size);
    return true;
  }

 private:
  std::string_view bytes_;
};

class Nothing final : public wire::PathWatch {
 public:
  bool Below(std::string_view) const override { return true; }
  void Changed(std::string_view path, wire::TreeEntry::Kind) override { Require(!path.empty() && path.front() != '/'); }
};

// input := (type u8, argument u8, size u8, content)*, which becomes a pack with a right head and sound zlib data. The
// argument of an offset delta is the distance, that of a delta by id says which of the objects so far is the base.
std::string Assemble(std::string_view input, wire::ObjectFormat format, std::vector<std::string>* ids) {
  std::string objects;
  unsigned char count = 0;
  for (; input.size() > 3 && count < 24; ++count) {
    const auto type = static_cast<unsigned char>(input[0]) & 7;
    const auto argument = static_cast<unsigned char>(input[1]);
    const std::string_view content = input.substr(3, static_cast<unsigned char>(input[2]));
    input.remove_prefix(3 + content.size());
    std::string id = Digest(format, base::StrCat(kTypes[type], " ", content.size(), '\0', content));
    objects.push_back(static_cast<char>(0x80 | type << 4 | (content.size() & 15)));
    objects.push_back(static_cast<char>(content.size() >> 4));
    if (type == 6) objects.push_back(static_cast<char>(argument & 0x7F));
    if (type == 7) objects.append(ids->empty() ? id : (*ids)[argument % ids->size()]);
    if (type >= 1 && type <= 4) ids->push_back(std::move(id));
    std::array<Bytef, 512> packed;
    uLongf size = packed.size();
    Require(compress(packed.data(), &size, reinterpret_cast<const Bytef*>(content.data()), content.size()) == Z_OK);
    objects.append(reinterpret_cast<const char*>(packed.data()), size);
  }
  return base::StrCat(std::string_view("PACK\0\0\0\2\0\0\0", 11), static_cast<char>(count), objects);
}

absl::Status Read(wire::PackStore& store, std::string_view pack, std::size_t step, Memory& memory) {
  for (std::size_t at = 0; at < pack.size(); at += step) {
    if (absl::Status status = store.Feed(pack.substr(at, step)); !status.ok()) return status;
  }
  if (absl::Status status = store.Finish(); !status.ok()) return status;
  while (true) {
    const auto done = store.Resolve(memory);
    if (!done.ok()) return done.status();
    if (*done) return absl::OkStatus();
  }
}

}  // namespace

// One outcome however the pack is cut; every id is the digest of its content; the walk ends and reaches no more than there is.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto format = (data[0] & 1) != 0 ? wire::ObjectFormat::kSha256 : wire::ObjectFormat::kSha1;
  const std::string_view input = fuzz::View(data + 1, size - 1);
  std::string unpacked;
  wire::FetchReply reply;
  if (reply.Feed(input, &unpacked).ok()) Require(unpacked.size() <= input.size());
  wire::ReadHostOffer(input).IgnoreError();
  wire::ReadHostRefs(input, format, 100).IgnoreError();

  std::vector<std::string> ids;
  std::string pack = (data[0] & 4) != 0 ? Assemble(input, format, &ids) : std::string(input);
  if ((data[0] & 2) != 0) pack.append(Digest(format, pack));
  Memory memory(pack);
  wire::PackStore whole(format, kLimits), cut(format, kLimits);
  const absl::Status status = Read(whole, pack, pack.size() + 1, memory);
  Require(base::CodeOf(status) == base::CodeOf(Read(cut, pack, pack.size() / 64 + 1, memory)));
  if (!status.ok()) return 0;
  Require(whole.count() == cut.count() && whole.unresolved() == cut.unresolved());
  wire::PushWalk walk({&whole, &memory}, {.max_tree_entries = 50, .max_tree_depth = 5, .max_parents = 4, .max_outside = 20, .max_compared = 10'000, .max_steps = 10'000});
  for (uint32_t i = 0; i < whole.count(); ++i) {
    if (whole.Find(whole.id(i)) != i) continue;
    const auto text = whole.Read(i, memory);
    if (!text.ok()) continue;
    Require(whole.id(i) == Digest(format, base::StrCat(kTypes[static_cast<int>(whole.type(i))], " ", (*text)->size(), '\0', **text)));
    walk.AddTip(whole.id(i));
  }
  absl::StatusOr<bool> done = walk.Reach();
  while (done.ok() && !*done) done = walk.Reach();
  if (!done.ok()) return 0;
  Require(walk.commits().size() <= whole.count());
  Nothing watch;
  for (const uint32_t commit : walk.commits()) {
    const auto reached = walk.Reached(commit);
    Require(!reached.ok() || reached->size() <= walk.commits().size());
    walk.Compare(commit, {}, watch).IgnoreError();
  }
  return 0;
}
