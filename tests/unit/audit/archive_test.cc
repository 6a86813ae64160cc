#include "audit/archive.h"

#include "audit/ledger.h"
#include "audit/note.h"
#include "audit/prove.h"
#include "audit/reader.h"
#include "audit/verify.h"
#include "unit/audit/folder.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override { MakeLedger(edge_, 300); }
  std::unique_ptr<Archive> Open() {
    absl::StatusOr<std::unique_ptr<Archive>> archive = Archive::Open(path_, TestKeyText());
    EXPECT_THAT(archive, IsOk());
    return *std::move(archive);
  }
  // Ships `count` entries from `from` on.
  absl::Status Ship(Archive* archive, uint64_t from, uint64_t count, std::string_view checkpoint = {}) {
    std::string lines;
    for (uint64_t i = from; i < from + count; ++i) lines += *ReadEntry(edge_, i) + "\n";
    return archive->Append(from, lines, checkpoint);
  }
  std::string EdgeCheckpoint() const { return Slurp(edge_ + "/checkpoint"); }

  const Folder folder_;
  const std::string edge_ = folder_ / "edge";
  const std::string path_ = folder_ / "archive";
};

TEST_F(ArchiveTest, HoldsTheSameLedger) {
  const std::unique_ptr<Archive> archive = Open();
  Follower follower(edge_, 0);
  while (true) {
    ASSERT_OK_AND_ASSIGN(const RawLines lines, follower.Next(5000));
    if (lines.count == 0) break;
    EXPECT_EQ(lines.first_index, archive->size());
    ASSERT_THAT(archive->Append(lines.first_index, lines.bytes, EdgeCheckpoint()), IsOk());
  }
  EXPECT_EQ(archive->size(), 300u);
  EXPECT_EQ(archive->checkpoint_size(), 300u);
  EXPECT_EQ(Slurp(FirstSegment(path_)), Slurp(FirstSegment(edge_)));
  const VerifyReport report = Verify(path_, TestKeyText(), EdgeCheckpoint());
  EXPECT_TRUE(report.whole()) << report.words;
  ASSERT_OK_AND_ASSIGN(const std::string proof, ProveEntry(path_, 299));
  EXPECT_THAT(CheckProof(proof, *ReadEntry(edge_, 299), TestKeyText()), IsOk());
}

TEST_F(ArchiveTest, TakesABatchTwiceAndGoesOnAfterReopening) {
  {
    const std::unique_ptr<Archive> archive = Open();
    ASSERT_THAT(Ship(archive.get(), 0, 20), IsOk());
    ASSERT_THAT(Ship(archive.get(), 10, 20), IsOk());
    ASSERT_THAT(Ship(archive.get(), 5, 3), IsOk());
    EXPECT_EQ(archive->size(), 30u);
    EXPECT_THAT(Archive::Open(path_, TestKeyText()), FailsWith(ErrorCode::kAlreadyRunning));
  }
  const std::unique_ptr<Archive> archive = Open();
  EXPECT_EQ(archive->size(), 30u);
  ASSERT_THAT(Ship(archive.get(), 30, 270, EdgeCheckpoint()), IsOk());
  EXPECT_TRUE(Verify(path_, TestKeyText(), {}).whole());
}

TEST_F(ArchiveTest, RefusesGapsAndOtherLines) {
  const std::unique_ptr<Archive> archive = Open();
  ASSERT_THAT(Ship(archive.get(), 0, 10), IsOk());
  EXPECT_THAT(Ship(archive.get(), 11, 5), FailsWith(ErrorCode::kLedgerForked));
  EXPECT_THAT(archive->Append(9, "{\"other\":1}\n", {}), FailsWith(ErrorCode::kLedgerForked));
  for (const char* lines : {"{\"a\":1}", "{\"a\": 1}\n", "\n", "[]\n", "{\"b\":1,\"a\":1}\n", "{}\ngarbage\n", "{\"a\":\"\xff\"}\n"}) {
    EXPECT_THAT(archive->Append(10, lines, {}), FailsWith(ErrorCode::kBadArgument)) << lines;
  }
  EXPECT_EQ(archive->size(), 10u);
  ASSERT_THAT(Ship(archive.get(), 10, 290, EdgeCheckpoint()), IsOk());
}

TEST_F(ArchiveTest, RefusesCheckpointsOfAnotherHistory) {
  const std::unique_ptr<Archive> archive = Open();
  ASSERT_THAT(Ship(archive.get(), 0, 300), IsOk());
  Hash wrong{};
  for (const uint64_t size : {300, 100}) {
    ASSERT_OK_AND_ASSIGN(const std::string fork, SignNote(CheckpointText({kOrigin, size, wrong}), kOrigin, TestKey()));
    EXPECT_THAT(archive->Append(300, {}, fork), FailsWith(ErrorCode::kLedgerForked));
  }
  ASSERT_OK_AND_ASSIGN(const std::string foreign, SignNote(CheckpointText({kOrigin, 300, wrong}), kOrigin, TestKey('x')));
  EXPECT_THAT(archive->Append(300, {}, foreign), FailsWith(ErrorCode::kLedgerForked));
  EXPECT_FALSE(IsLedgerFolder(path_));
  EXPECT_THAT(archive->Append(300, {}, EdgeCheckpoint()), IsOk());
  EXPECT_THAT(Archive::Open(folder_ / "archive2", "no key"), FailsWith(ErrorCode::kBadArgument));
}

TEST_F(ArchiveTest, ACheckpointAheadWaitsForItsEntries) {
  const std::unique_ptr<Archive> archive = Open();
  ASSERT_THAT(Ship(archive.get(), 0, 100, EdgeCheckpoint()), IsOk());
  EXPECT_EQ(archive->checkpoint_size(), 0u);
  ASSERT_THAT(Ship(archive.get(), 100, 200), IsOk());
  EXPECT_EQ(archive->checkpoint_size(), 300u);
  EXPECT_EQ(Slurp(path_ + "/checkpoint"), EdgeCheckpoint());
}

TEST_F(ArchiveTest, AnOlderCheckpointDoesNotReplaceANewerOne) {
  const std::string older = EdgeCheckpoint();
  MakeLedger(edge_, 5);
  const std::unique_ptr<Archive> archive = Open();
  ASSERT_THAT(Ship(archive.get(), 0, 305, EdgeCheckpoint()), IsOk());
  ASSERT_THAT(archive->Append(305, {}, older), IsOk());
  EXPECT_EQ(archive->checkpoint_size(), 305u);
  EXPECT_EQ(Slurp(path_ + "/checkpoint"), EdgeCheckpoint());
}

TEST_F(ArchiveTest, BelongsToOneKey) {
  Open();
  EXPECT_THAT(Archive::Open(path_, TestKeyText('x')), FailsWith(ErrorCode::kLedgerForked));
}

}  // namespace
}  // namespace credbroker::audit
