#include "audit/verify.h"

#include "audit/ledger.h"
#include "audit/note.h"
#include "audit/prove.h"
#include "audit/reader.h"
#include "unit/audit/folder.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class VerifyTest : public testing::Test {
 protected:
  void SetUp() override {
    MakeLedger(path_, 5);
    bytes_ = Slurp(FirstSegment(path_));
  }
  VerifyReport Check(std::string_view pinned = {}) { return Verify(path_, TestKeyText(), pinned); }
  VerifyReport CheckWith(const std::string& bytes) {
    Spill(FirstSegment(path_), bytes);
    return Check();
  }
  uint64_t LinesBefore(std::size_t byte) const {
    return static_cast<uint64_t>(std::count(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(byte), '\n'));
  }

  const Folder folder_;
  const std::string path_ = folder_ / "l";
  std::string bytes_;
};

TEST_F(VerifyTest, AnUntouchedLedgerIsWhole) {
  const VerifyReport report = Check(Slurp(path_ + "/checkpoint"));
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.words;
  EXPECT_EQ(report.entries, 5u);
  EXPECT_EQ(report.checkpoint_size, 5u);
  EXPECT_EQ(report.beyond_checkpoint, 0u);
  EXPECT_EQ(report.origin, kOrigin);
  EXPECT_TRUE(report.key_pinned);
  EXPECT_TRUE(report.checkpoint_pinned);
  const VerifyReport unpinned = Verify(path_, {}, {});
  EXPECT_TRUE(unpinned.whole());
  EXPECT_FALSE(unpinned.key_pinned);
  EXPECT_NE(unpinned.words.find("No key was pinned"), std::string::npos);
}

TEST_F(VerifyTest, AFlipOfAnyByteNamesItsEntry) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    for (const int flip : {0x01, 0x20, 0x80, bytes_[i] ^ '\n'}) {
      if (flip == 0) continue;
      std::string edited = bytes_;
      edited[i] = static_cast<char>(edited[i] ^ flip);
      const VerifyReport report = CheckWith(edited);
      ASSERT_EQ(report.verdict, Verdict::kEdited) << i << ' ' << flip << ' ' << report.words;
      ASSERT_EQ(report.entry, LinesBefore(i)) << i << ' ' << flip << ' ' << report.words;
    }
  }
}

TEST_F(VerifyTest, ACutAtAnyLengthIsNamedTruncation) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    const VerifyReport report = CheckWith(bytes_.substr(0, size));
    ASSERT_EQ(report.verdict, Verdict::kTruncated) << size << ' ' << report.words;
    ASSERT_EQ(report.entry, LinesBefore(size)) << size;
    ASSERT_THAT(OpenLedger(path_), FailsWith(ErrorCode::kLedgerTruncated)) << size;
  }
  EXPECT_EQ(CheckWith(bytes_).verdict, Verdict::kWhole);
}

TEST_F(VerifyTest, RemovedAndInsertedEntriesAreNamed) {
  const std::size_t first = bytes_.find('\n') + 1;
  const std::size_t second = bytes_.find('\n', first) + 1;
  VerifyReport report = CheckWith(bytes_.substr(0, first) + bytes_.substr(second));
  EXPECT_EQ(report.verdict, Verdict::kEdited);
  EXPECT_EQ(report.entry, 1u);
  report = CheckWith(bytes_.substr(0, first) + "{}\n" + bytes_.substr(first));
  EXPECT_EQ(report.verdict, Verdict::kEdited);
  EXPECT_EQ(report.entry, 1u);
  EXPECT_THAT(OpenLedger(path_), IsOk()) << "tiles agree with the checkpoint, the entries are for verify to judge";
}

TEST_F(VerifyTest, EditsAreFoundWithoutTilesToo) {
  std::filesystem::remove_all(path_ + "/tile");
  std::string edited = bytes_;
  edited[40] ^= 1;
  const VerifyReport report = CheckWith(edited);
  EXPECT_EQ(report.verdict, Verdict::kEdited);
  EXPECT_FALSE(report.entry.has_value());
  EXPECT_THAT(OpenLedger(path_), FailsWith(ErrorCode::kLedgerTampered));
}

TEST_F(VerifyTest, EntriesBehindTheCheckpointAreCountedAndSaidToBeUnproven) {
  const VerifyReport report = CheckWith(bytes_ + "{\"a\":1}\n{\"b\":1}\n");
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.words;
  EXPECT_EQ(report.entries, 7u);
  EXPECT_EQ(report.beyond_checkpoint, 2u);
  EXPECT_NE(report.words.find("await the next checkpoint"), std::string::npos);
}

TEST_F(VerifyTest, AnyFlipInTheCheckpointIsRefused) {
  const std::string note = Slurp(path_ + "/checkpoint");
  for (std::size_t i = 0; i < note.size(); ++i) {
    for (const int flip : {1, 0x80}) {
      std::string edited = note;
      edited[i] = static_cast<char>(edited[i] ^ flip);
      Spill(path_ + "/checkpoint", edited);
      const Verdict verdict = Check().verdict;
      ASSERT_TRUE(verdict == Verdict::kBadSignature || verdict == Verdict::kUnreadable) << i << VerdictName(verdict);
    }
  }
}

TEST_F(VerifyTest, KeysComeFromThePinNotFromTheFolder) {
  // The attacker signs anew with another key and puts that key into the folder.
  Spill(path_ + "/log.vkey", TestKeyText('x') + "\n");
  ASSERT_OK_AND_ASSIGN(const std::string note, SignNote(CheckpointText({kOrigin, 0, EmptyRoot()}), kOrigin, TestKey('x')));
  Spill(path_ + "/checkpoint", note);
  EXPECT_EQ(Check().verdict, Verdict::kBadSignature);
  EXPECT_TRUE(Verify(path_, {}, {}).whole());
  EXPECT_FALSE(Verify(path_, {}, {}).key_pinned);
}

TEST_F(VerifyTest, APinnedCheckpointFindsRollbackAndFork) {
  const std::string early = Slurp(path_ + "/checkpoint");
  std::filesystem::copy(path_, folder_ / "old", std::filesystem::copy_options::recursive);
  MakeLedger(path_, 3);
  const std::string late = Slurp(path_ + "/checkpoint");
  EXPECT_TRUE(Check(early).whole());
  EXPECT_TRUE(Check(late).whole());

  const VerifyReport rollback = Verify(folder_ / "old", TestKeyText(), late);
  EXPECT_EQ(rollback.verdict, Verdict::kTruncated);
  EXPECT_EQ(rollback.entry, 5u);

  MakeLedger(folder_ / "other", 9);  // request ids differ from those of two runs of 5 and 3
  const VerifyReport fork = Verify(folder_ / "other", TestKeyText(), late);
  EXPECT_EQ(fork.verdict, Verdict::kForked) << fork.words;
  EXPECT_EQ(Verify(path_, TestKeyText(), "garbage").verdict, Verdict::kUnreadable);
}

TEST_F(VerifyTest, WhatIsNoLedgerIsUnreadable) {
  EXPECT_EQ(Verify(folder_ / "none", TestKeyText(), {}).verdict, Verdict::kUnreadable);
  EXPECT_EQ(Verify(path_, "not a key", {}).verdict, Verdict::kUnreadable);
  std::filesystem::remove(path_ + "/log.vkey");
  EXPECT_EQ(Verify(path_, {}, {}).verdict, Verdict::kUnreadable);
}

TEST(VerifySegmentsTest, AMissingSegmentIsNamed) {
  const Folder folder;
  LedgerOptions options;
  options.segment_bytes = 1000;
  MakeLedger(folder / "l", 40, options);
  EXPECT_TRUE(Verify(folder / "l", TestKeyText(), {}).whole());
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "l/entries")) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  ASSERT_GT(paths.size(), 4u);
  const uint64_t first = std::stoull(std::filesystem::path(paths[2]).stem());
  std::filesystem::remove(paths[2]);
  VerifyReport report = Verify(folder / "l", TestKeyText(), {});
  EXPECT_EQ(report.verdict, Verdict::kEdited);
  EXPECT_EQ(report.entry, first);
  for (std::size_t i = 3; i < paths.size(); ++i) std::filesystem::remove(paths[i]);
  report = Verify(folder / "l", TestKeyText(), {});
  EXPECT_EQ(report.verdict, Verdict::kTruncated);
  EXPECT_EQ(report.entry, first);
  EXPECT_THAT(OpenLedger(folder / "l"), FailsWith(ErrorCode::kLedgerTruncated));
}

TEST(ProveTest, EveryEntryOfALedgerHasAProofThatOnlyItFits) {
  const Folder folder;
  MakeLedger(folder / "l", 300);
  for (const uint64_t index : {0, 1, 127, 255, 256, 298, 299}) {
    ASSERT_OK_AND_ASSIGN(const std::string line, ReadEntry(folder / "l", index));
    ASSERT_OK_AND_ASSIGN(const std::string proof, ProveEntry(folder / "l", index));
    EXPECT_THAT(CheckProof(proof, line, TestKeyText()), IsOk());
    EXPECT_THAT(CheckProof(proof, line + " ", TestKeyText()), FailsWith(ErrorCode::kLedgerTampered));
    EXPECT_FALSE(CheckProof(proof, line, TestKeyText('x')).ok());
    for (std::size_t i = 0; i < proof.size(); ++i) {
      std::string flipped = proof;
      flipped[i] = static_cast<char>(flipped[i] ^ 1);
      ASSERT_FALSE(CheckProof(flipped, line, TestKeyText()).ok()) << i;
      ASSERT_FALSE(CheckProof(proof.substr(0, i), line, TestKeyText()).ok()) << i;
    }
  }
  EXPECT_THAT(ProveEntry(folder / "l", 300), FailsWith(ErrorCode::kRecordNotFound));
  // Without tiles the proof is the same.
  ASSERT_OK_AND_ASSIGN(const std::string with, ProveEntry(folder / "l", 7));
  std::filesystem::remove_all(folder / "l/tile");
  ASSERT_OK_AND_ASSIGN(const std::string without, ProveEntry(folder / "l", 7));
  EXPECT_EQ(with, without);
  std::string bytes = Slurp(FirstSegment(folder / "l"));
  bytes[20] ^= 1;
  Spill(FirstSegment(folder / "l"), bytes);
  EXPECT_THAT(ProveEntry(folder / "l", 0), FailsWith(ErrorCode::kLedgerTampered));
}

TEST(ProveTest, TheTextIsThatOfTheSpecification) {
  const Folder folder;
  MakeLedger(folder / "l", 2);
  ASSERT_OK_AND_ASSIGN(const std::string proof, ProveEntry(folder / "l", 1));
  EXPECT_TRUE(proof.starts_with("c2sp.org/tlog-proof@v1\nindex 1\n")) << proof;
  EXPECT_TRUE(proof.ends_with("=\n\n" + Slurp(folder / "l/checkpoint"))) << proof;
  ASSERT_OK_AND_ASSIGN(const std::string line, ReadEntry(folder / "l", 1));
  std::string extra = proof;
  extra.insert(proof.find("index"), "extra Zm9v\n");
  EXPECT_THAT(CheckProof(extra, line, TestKeyText()), IsOk());
}

}  // namespace
}  // namespace credbroker::audit
