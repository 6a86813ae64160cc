#include <string>

#include "audit/archive.h"
#include "audit/json_line.h"
#include "audit/note.h"
#include "audit/prove.h"
#include "audit/reader.h"
#include "base/text.h"
#include "folder.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

// Signatures of keys that nobody knows, behind a good one.
std::string Crowded(const std::string& note, int others) {
  std::string out = note;
  for (int i = 0; i < others; ++i) {
    base::StrAppend(&out, "\u2014 witness", i, ".test ", base::Base64Encode(std::string(68, static_cast<char>(i + 1))), "\n");
  }
  return out;
}

TEST(NoteTest, HundredSignaturesAndAMebibyteAtMost) {
  ASSERT_OK_AND_ASSIGN(const std::string note, SignNote("text\n", kOrigin, TestKey()));
  const NoteKey key = MakeNoteKey(kOrigin, TestKey().public_key().bytes());
  EXPECT_THAT(OpenNote(Crowded(note, 99), {&key, 1}), IsOk());
  EXPECT_THAT(OpenNote(Crowded(note, 100), {&key, 1}), FailsWith(ErrorCode::kBadArgument));
  const auto padded = [&](std::size_t bytes) {  // by the signature of an unknown key
    const std::size_t room = bytes - note.size() - 6, name = 4 + room % 4;
    return note + "\u2014 " + std::string(name, 'n') + " " + base::Base64Encode(std::string((room - name) / 4 * 3, 's')) + "\n";
  };
  ASSERT_EQ(padded(kMaxNoteBytes).size(), kMaxNoteBytes);
  EXPECT_THAT(OpenNote(padded(kMaxNoteBytes), {&key, 1}), IsOk());
  EXPECT_THAT(OpenNote(padded(kMaxNoteBytes + 1), {&key, 1}), FailsWith(ErrorCode::kBadArgument));
}

TEST(ProofTest, SixtyFourHashesAtMost) {
  const Folder folder;
  MakeLedger(folder / "l", 1);
  ASSERT_OK_AND_ASSIGN(const std::string proof, ProveEntry(folder / "l", 0));
  ASSERT_OK_AND_ASSIGN(const std::string line, ReadEntry(folder / "l", 0));
  const std::size_t border = proof.find("\n\n");
  ASSERT_NE(border, std::string::npos);
  const auto check = [&](int hashes) {
    std::string text = proof.substr(0, border + 1);
    for (int i = 0; i < hashes; ++i) base::StrAppend(&text, base::Base64Encode(std::string(32, 'h')), "\n");
    return CheckProof(text + proof.substr(border + 1), line, TestKeyText());
  };
  EXPECT_THAT(check(0), IsOk());
  EXPECT_THAT(check(64), FailsWith(ErrorCode::kLedgerTampered)) << "read, and wrong";
  EXPECT_THAT(check(65), FailsWith(ErrorCode::kBadArgument)) << "not read";
}

TEST(ArchiveCapsTest, ALeafIsBelow64KiB) {
  const Folder folder;
  ASSERT_OK_AND_ASSIGN(const auto archive, Archive::Open(folder / "a", TestKeyText()));
  const auto line = [](std::size_t bytes) { return "{\"a\":\"" + std::string(bytes - 8, 'x') + "\"}\n"; };
  EXPECT_THAT(archive->Append(0, line(kMaxLeafBytes + 1), {}), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(archive->Append(0, line(kMaxLeafBytes), {}), IsOk());
  EXPECT_EQ(archive->size(), 1u);
}

}  // namespace
}  // namespace credbroker::audit
