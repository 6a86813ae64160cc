#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "audit/canonical.h"
#include "audit/note.h"
#include "audit/tiles.h"
#include "audit/tree.h"
#include "base/text.h"
#include "unit/audit/folder.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;
using Json = nlohmann::json;

// The public test vectors. Where they are not installed the tests say so and prove nothing.
std::string Vectors(const std::string& set) {
  const char* const named = std::getenv("CREDBROKER_VECTORS");
  const std::string root = named != nullptr ? named : CREDBROKER_SOURCE_DIR "/../shared/vectors";
  const std::string folder = root + "/" + set;
  if (std::filesystem::exists(folder)) return folder;
  std::cout << "vectors ABSENT, nothing checked: " << folder << "\n";
  return {};
}

Json Load(const std::string& path) { return Json::parse(Slurp(path)); }

std::string Raw(const Json& base64) {
  std::string bytes;
  EXPECT_TRUE(base::Base64Decode(base64.get<std::string>(), &bytes));
  return bytes;
}

std::vector<std::string> RawList(const Json& list) {
  std::vector<std::string> hashes;
  if (list.is_null()) return hashes;
  for (const Json& hash : list) hashes.push_back(Raw(hash));
  return hashes;
}

Hash FromHex(const std::string& text) {
  std::string bytes;
  Hash hash{};
  EXPECT_TRUE(base::HexDecode(text, &bytes) && ToHash(bytes, &hash));
  return hash;
}

TEST(JcsVectorsTest, DocumentsBecomeCanonical) {
  const std::string folder = Vectors("jcs");
  if (folder.empty()) return;
  for (const char* name : {"arrays", "french", "structures", "unicode", "values", "weird"}) {
    const std::string file = base::StrCat("/", std::string_view(name), ".json");
    ASSERT_OK_AND_ASSIGN(const std::string canonical, Canonicalize(Slurp(folder + "/input" + file)));
    EXPECT_EQ(canonical, Slurp(folder + "/output" + file)) << name;
    EXPECT_THAT(Canonicalize(canonical), IsOk());
    EXPECT_EQ(*Canonicalize(canonical), canonical) << name;
  }
}

TEST(JcsVectorsTest, NumbersAreWrittenAsEcmaScriptDoes) {
  const std::string folder = Vectors("jcs");
  if (folder.empty()) return;
  std::istringstream lines(Slurp(folder + "/es6numbers-10000.txt"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::size_t comma = line.find(',');
    const uint64_t bits = std::stoull(line.substr(0, comma), nullptr, 16);
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    std::string text;
    AppendNumber(number, &text);
    ASSERT_EQ(text, line.substr(comma + 1)) << line;
    ASSERT_OK_AND_ASSIGN(const std::string again, Canonicalize(text));
    ASSERT_EQ(again, text);
  }
  EXPECT_EQ(count, 10000);
}

TEST(CanonicalTest, RefusesWhatHasNoSingleMeaning) {
  for (const std::string& text : std::vector<std::string>{
           "", " ", R"({"a":1,"a":2})", R"({"a":1,"\u0061":2})", R"("\ud800")", R"("\ud800\u0041")", R"("\udc00")",
           "\"\xed\xa0\x80\"", "\"\xff\"", "NaN", "Infinity", "-Infinity", "1e999", "1e-999", "{} {}", "1 2", "01", "-", "1.",
           ".5", "+1", "[1,]", "{\"a\":1,}", "{a:1}", "'a'", "\"a\nb\"", R"("\x41")", R"("\u12")", "tru", "[", "{\"a\"", "\"a",
           std::string("\"\0\"", 3), std::string(70, '[') + std::string(70, ']'), std::string("\xEF\xBB\xBF{}", 5)}) {
    EXPECT_THAT(Canonicalize(text), FailsWith(ErrorCode::kBadArgument)) << text;
  }
  EXPECT_THAT(Canonicalize(std::string(kMaxCanonicalBytes + 1, ' ')), FailsWith(ErrorCode::kBadArgument));
}

TEST(CanonicalTest, SortsByUtf16Units) {
  ASSERT_OK_AND_ASSIGN(const std::string text, Canonicalize("{\"\uE000\":1,\"\U0001F600\":2,\"\uD7FF\":3,\"a\":4,\"\":5}"));
  EXPECT_EQ(text, "{\"\":5,\"a\":4,\"\uD7FF\":3,\"\U0001F600\":2,\"\uE000\":1}");
}

TEST(MerkleVectorsTest, RootsOfTheReferenceTree) {
  const std::string folder = Vectors("merkle");
  if (folder.empty()) return;
  const Json tree = Load(folder + "/rfc6962-tree.json");
  CompactRange range;
  std::vector<Hash> leaves;
  EXPECT_EQ(range.Root(), FromHex(tree["root_hashes_hex_by_size"][0]));
  for (std::size_t i = 0; i < 8; ++i) {
    std::string leaf;
    ASSERT_TRUE(base::HexDecode(tree["leaf_inputs_hex"][i].get<std::string>(), &leaf));
    leaves.push_back(LeafHash(leaf));
    EXPECT_EQ(leaves.back(), FromHex(tree["node_hashes_hex_by_level"][0][i]));
    range.Append(leaves.back());
    EXPECT_EQ(range.Root(), FromHex(tree["root_hashes_hex_by_size"][i + 1])) << i;
  }
  const MemoryNodes nodes(leaves);
  for (int level = 0; level < 4; ++level) {
    const Json& hashes = tree["node_hashes_hex_by_level"][static_cast<std::size_t>(level)];
    for (uint64_t i = 0; i < hashes.size(); ++i) EXPECT_EQ(*nodes.Node(level, i), FromHex(hashes[i]));
  }
}

TEST(MerkleVectorsTest, InclusionProofs) {
  const std::string folder = Vectors("merkle");
  if (folder.empty()) return;
  const Json cases = Load(folder + "/inclusion.json");
  EXPECT_EQ(cases.size(), 98u);
  for (const Json& c : cases) {
    const absl::Status status = CheckInclusion(c["leafIdx"].get<uint64_t>(), c["treeSize"].get<uint64_t>(), Raw(c["leafHash"]),
                                               RawList(c["proof"]), Raw(c["root"]));
    EXPECT_EQ(!status.ok(), c["wantErr"].get<bool>()) << c["id"] << status;
  }
}

TEST(MerkleVectorsTest, ConsistencyProofs) {
  const std::string folder = Vectors("merkle");
  if (folder.empty()) return;
  const Json cases = Load(folder + "/consistency.json");
  EXPECT_EQ(cases.size(), 98u);
  for (const Json& c : cases) {
    const absl::Status status = CheckConsistency(c["size1"].get<uint64_t>(), c["size2"].get<uint64_t>(), Raw(c["root1"]),
                                                 Raw(c["root2"]), RawList(c["proof"]));
    // Here the vectors compare 12-byte texts as roots; we refuse whatever has not 32 bytes, equal or not.
    const bool stricter = c["id"] == "consistency/additional/sizes-are-equal-one-and-proof-is-empty";
    EXPECT_EQ(!status.ok(), stricter || c["wantErr"].get<bool>()) << c["id"] << status;
  }
}

// What OpenNote's failure is called in the vectors.
std::string ResultOf(const absl::StatusOr<Note>& note) {
  if (note.ok()) return "ok";
  const std::string message(note.status().message());
  for (const char* word : {"malformed", "invalid signature", "no verifiable signature", "ambiguous key"}) {
    if (message.find(word) != std::string::npos) return word;
  }
  return message;
}

std::vector<std::string> Names(const std::vector<NoteSignature>& signatures) {
  std::vector<std::string> names;
  for (const NoteSignature& signature : signatures) names.push_back(signature.name);
  return names;
}

TEST(NoteVectorsTest, Notes) {
  const std::string folder = Vectors("signed-note");
  if (folder.empty()) return;
  const Json cases = Load(folder + "/notes.json");
  EXPECT_EQ(cases.size(), 19u);
  for (const Json& c : cases) {
    std::vector<NoteKey> keys;
    for (const Json& text : c["vkeys"]) {
      ASSERT_OK_AND_ASSIGN(NoteKey key, ParseNoteKey(text.get<std::string>()));
      keys.push_back(key);
    }
    const std::string text = c.contains("note") ? c["note"].get<std::string>() : Raw(c["note_b64"]);
    const absl::StatusOr<Note> note = OpenNote(text, keys);
    EXPECT_EQ(ResultOf(note), c["expect"]["result"].get<std::string>()) << c["id"];
    if (!note.ok() || c["expect"]["result"] != "ok") continue;
    EXPECT_EQ(Names(note->verified), c["expect"]["verified"].get<std::vector<std::string>>()) << c["id"];
    EXPECT_EQ(Names(note->unverified), c["expect"]["unverified"].get<std::vector<std::string>>()) << c["id"];
  }
}

TEST(NoteVectorsTest, Keys) {
  const std::string folder = Vectors("signed-note");
  if (folder.empty()) return;
  const Json cases = Load(folder + "/verifier-keys.json");
  EXPECT_EQ(cases.size(), 71u);
  for (const Json& c : cases) {
    const std::string text = c["key"].get<std::string>();
    const absl::StatusOr<NoteKey> key = ParseNoteKey(text);
    EXPECT_EQ(key.ok(), c["valid"].get<bool>()) << text;
    if (!key.ok()) continue;
    EXPECT_EQ(NoteKeyText(*key), text);
    for (std::size_t from = 0; from < text.size(); ++from) {
      for (std::size_t length = 0; length < text.size() - from; ++length) {
        if (length == text.size()) continue;
        EXPECT_FALSE(ParseNoteKey(text.substr(from, length)).ok()) << text.substr(from, length);
      }
    }
  }
}

// A test signer key is PRIVATE+KEY+name+id+base64(type | seed), and base64 has pluses too.
crypto::SigningKey SignerOf(std::string text) {
  std::string bytes;
  for (int pluses = 0; pluses < 4; ++pluses) text.erase(0, text.find('+') + 1);
  while (text.ends_with('\n')) text.pop_back();
  EXPECT_TRUE(base::Base64Decode(text, &bytes));
  return *crypto::SigningKey::FromSeed(base::Secret::Copy(std::string_view(bytes).substr(1)));
}

TEST(NoteVectorsTest, SigningGivesTheSameBytes) {
  const std::string folder = Vectors("signed-note");
  if (folder.empty()) return;
  for (const Json& c : Load(folder + "/sign.json")) {
    const crypto::SigningKey key = SignerOf(c["test_signer_key"].get<std::string>());
    ASSERT_OK_AND_ASSIGN(const std::string note, SignNote(c["text"].get<std::string>(), "PeterNeumann", key));
    EXPECT_EQ(note, c["note"].get<std::string>());
  }
}

TEST(NoteVectorsTest, Cosignatures) {
  const std::string folder = Vectors("signed-note");
  if (folder.empty()) return;
  const Json set = Load(folder + "/cosignatures.json");
  ASSERT_OK_AND_ASSIGN(const NoteKey log, ParseNoteKey(set["log_vkey"].get<std::string>()));
  ASSERT_OK_AND_ASSIGN(const NoteKey witness, ParseNoteKey(set["witness_vkey"].get<std::string>()));
  EXPECT_EQ(set["cases"].size(), 7u);
  for (const Json& c : set["cases"]) {
    const std::string text = c["note"].get<std::string>();
    const auto judge = [&](const NoteKey& key) -> std::string {
      const absl::StatusOr<Note> note = OpenNote(text, {&key, 1});
      if (note.ok()) return "valid";
      return ResultOf(note) == "invalid signature" ? "invalid" : "unknown key";
    };
    EXPECT_EQ(judge(log), c["expect"]["log_signature"].get<std::string>()) << c["id"];
    EXPECT_EQ(judge(witness), c["expect"]["cosignature"].get<std::string>()) << c["id"];
    if (c["expect"]["cosignature"] != "valid") continue;
    EXPECT_EQ(OpenNote(text, {&witness, 1})->verified[0].timestamp, c["expect"]["timestamp"].get<uint64_t>()) << c["id"];
  }
}

TEST(TlogTilesVectorsTest, TheLogGrowsAsPublished) {
  const std::string folder = Vectors("tlog-tiles");
  if (folder.empty()) return;
  ASSERT_OK_AND_ASSIGN(const NoteKey key, ParseNoteKey(Slurp(folder + "/log.vkey")));
  const crypto::SigningKey signer = SignerOf(Slurp(folder + "/log.test-signer-key"));
  const std::string entries = Slurp(folder + "/log/tile/entries/000.p/15");
  CompactRange range;
  std::vector<Hash> leaves;
  std::vector<Hash> roots;
  std::size_t at = 0;
  for (uint64_t size = 0; size <= 15; ++size) {
    const std::string note = Slurp(base::StrCat(folder, "/log/checkpoint.", size));
    ASSERT_OK_AND_ASSIGN(const Checkpoint checkpoint, OpenCheckpoint(note, {&key, 1}));
    EXPECT_EQ(checkpoint.size, size);
    EXPECT_EQ(checkpoint.root, range.Root());
    ASSERT_OK_AND_ASSIGN(const std::string again, SignNote(CheckpointText(checkpoint), key.name, signer));
    EXPECT_EQ(again, note);
    roots.push_back(range.Root());
    if (size == 15) break;
    const std::size_t length = static_cast<uint8_t>(entries[at]) * 256u + static_cast<uint8_t>(entries[at + 1]);
    leaves.push_back(LeafHash(entries.substr(at + 2, length)));
    range.Append(leaves.back());
    at += 2 + length;
  }
  const TileNodes tiles(folder + "/log", 15);
  for (uint64_t old = 1; old <= 15; ++old) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Hash> proof, ProveConsistency(tiles, old, 15));
    std::vector<std::string> raw;
    for (const Hash& hash : proof) raw.emplace_back(Bytes(hash));
    EXPECT_THAT(CheckConsistency(old, 15, Bytes(roots[old]), Bytes(roots[15]), raw), IsOk());
  }
  // Our writer makes the same tile, byte for byte.
  const Folder ours;
  TileWriter writer(ours.path());
  for (const Hash& leaf : leaves) writer.Append(leaf);
  ASSERT_THAT(writer.Save(), IsOk());
  EXPECT_EQ(Slurp(ours / "tile/0/000.p/15"), Slurp(folder + "/log/tile/0/000.p/15"));
}

}  // namespace
}  // namespace credbroker::audit
