#include "audit/prove.h"

#include "audit/note.h"
#include "audit/reader.h"
#include "audit/tiles.h"
#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using base::StrCat;

constexpr std::string_view kHeader = "c2sp.org/tlog-proof@v1\n";
constexpr std::string_view kIndex = "index ";
constexpr std::size_t kMaxProofHashes = 64;

absl::Status Malformed(std::string_view why) {
  return base::Error(ErrorCode::kBadArgument, StrCat("malformed proof: ", why));
}

std::string ProofText(uint64_t index, const std::vector<Hash>& path, std::string_view note) {
  std::string text = StrCat(kHeader, kIndex, index, '\n');
  for (const Hash& hash : path) base::StrAppend(&text, base::Base64Encode(Bytes(hash)), '\n');
  return StrCat(text, '\n', note);
}

// Without usable tiles the leaves are hashed anew.
absl::StatusOr<std::vector<Hash>> LeavesOf(const std::string& folder, uint64_t size) {
  std::vector<Hash> leaves;
  RETURN_IF_ERROR(ReadEntries(folder, Direction::kOldestFirst, 0, [&](uint64_t, std::string_view line) {
    if (leaves.size() < size) leaves.push_back(LeafHash(line));
    return leaves.size() < size;
  }));
  return leaves;
}

bool Holds(const std::vector<Hash>& path, uint64_t index, const Checkpoint& checkpoint, std::string_view line) {
  std::vector<std::string> hashes;
  for (const Hash& hash : path) hashes.emplace_back(Bytes(hash));
  const Hash leaf = LeafHash(line);
  return CheckInclusion(index, checkpoint.size, Bytes(leaf), hashes, Bytes(checkpoint.root)).ok();
}

struct Proof {
  uint64_t index = 0;
  std::vector<std::string> path;
  std::string_view note;
};

// Takes a line off the front; false at the end of the text.
bool TakeLine(std::string_view* text, std::string_view* line) {
  const std::size_t end = text->find('\n');
  if (end == std::string_view::npos) return false;
  *line = text->substr(0, end);
  text->remove_prefix(end + 1);
  return true;
}

absl::StatusOr<Proof> ParseProof(std::string_view text) {
  Proof proof;
  std::string_view line;
  if (text.size() > kMaxNoteBytes || !text.starts_with(kHeader)) return Malformed("no proof header");
  text.remove_prefix(kHeader.size());
  if (text.starts_with("extra ") && !TakeLine(&text, &line)) return Malformed("cut short");
  if (!TakeLine(&text, &line) || !line.starts_with(kIndex)) return Malformed("no index");
  line.remove_prefix(kIndex.size());
  if ((line.size() > 1 && line[0] == '0') || !base::ParseInt(line, &proof.index)) return Malformed("bad index");
  while (TakeLine(&text, &line) && !line.empty()) {
    std::string hash;
    if (proof.path.size() == kMaxProofHashes) return Malformed("too many hashes");
    if (!base::Base64Decode(line, &hash) || line.size() != 44) return Malformed("bad hash");
    proof.path.push_back(std::move(hash));
  }
  proof.note = text;
  return proof;
}

}  // namespace

absl::StatusOr<std::string> ProveEntry(const std::string& folder, uint64_t index) {
  ASSIGN_OR_RETURN(const std::string note, base::ReadFile(StrCat(folder, "/checkpoint"), kMaxNoteBytes));
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, ParseCheckpoint(note));
  if (index >= checkpoint.size) {
    return base::Error(ErrorCode::kRecordNotFound,
                       StrCat("the checkpoint covers ", checkpoint.size, " entries, not yet entry ", index));
  }
  ASSIGN_OR_RETURN(const std::string line, ReadEntry(folder, index));
  absl::StatusOr<std::vector<Hash>> path = ProveInclusion(TileNodes(folder, checkpoint.size), index, checkpoint.size);
  if (!path.ok() || !Holds(*path, index, checkpoint, line)) {
    ASSIGN_OR_RETURN(std::vector<Hash> leaves, LeavesOf(folder, checkpoint.size));
    path = ProveInclusion(MemoryNodes(std::move(leaves)), index, checkpoint.size);
  }
  if (path.ok() && Holds(*path, index, checkpoint, line)) return ProofText(index, *path, note);
  return base::Error(ErrorCode::kLedgerTampered, StrCat("entry ", index, " does not agree with the checkpoint"));
}

absl::Status CheckProof(std::string_view text, std::string_view line, std::string_view pinned_key) {
  ASSIGN_OR_RETURN(const NoteKey key, ParseNoteKey(pinned_key));
  ASSIGN_OR_RETURN(const Proof proof, ParseProof(text));
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, OpenCheckpoint(proof.note, {&key, 1}));
  const Hash leaf = LeafHash(line);
  return CheckInclusion(proof.index, checkpoint.size, Bytes(leaf), proof.path, Bytes(checkpoint.root));
}

}  // namespace credbroker::audit
