#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>

#include "audit/intents.h"
#include "audit/ledger.h"
#include "audit/reader.h"
#include "audit/verify.h"
#include "unit/audit/folder.h"

namespace credbroker::audit {
namespace {

using testing_kit::IsOk;

// In a child: appends intents and outcomes until it is killed; reports each acknowledged intent by a byte.
[[noreturn]] void AppendForever(const std::string& folder, int round, int pipe) {
  LedgerOptions options;
  options.segment_bytes = 20'000;
  options.checkpoint_interval = absl::Milliseconds(3);
  options.max_flush_delay = absl::Milliseconds(2);
  absl::StatusOr<std::unique_ptr<Ledger>> ledger = OpenLedger(folder, options);
  if (!ledger.ok()) _exit(3);
  for (const OpenIntent& open : (*ledger)->open_intents()) {
    if (round % 3 == 0) (*ledger)->AppendLater(Outcome(open.request_id, open.index)).IgnoreError();
  }
  for (int i = 0;; ++i) {
    const std::string id = base::StrCat(round, '-', i);
    Position position;
    if (!(*ledger)->Append(Intent(id), &position).ok()) _exit(4);
    if (write(pipe, "+", 1) != 1) _exit(5);
    if (i % 5 != 0) (*ledger)->AppendLater(Outcome(id, position.index)).IgnoreError();
  }
}

// Kills a child after about `acks` acknowledgements; returns how many there were.
int KillAfter(const std::string& folder, int round, int acks) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    AppendForever(folder, round, ends[1]);
  }
  close(ends[1]);
  int seen = 0;
  char byte;
  while (seen < acks && read(ends[0], &byte, 1) == 1) ++seen;
  kill(child, SIGKILL);
  while (read(ends[0], &byte, 1) == 1) ++seen;  // what it had said before it died
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? seen : -1;
}

TEST(CrashTest, NothingAcknowledgedIsLostByKilling) {
  const Folder folder;
  const std::string path = folder / "l";
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const int acks = KillAfter(path, round, 1 + static_cast<int>(random() % 400));
    ASSERT_GT(acks, 0) << round;
    const VerifyReport before = Verify(path, TestKeyText(), {});
    ASSERT_TRUE(before.whole() || before.verdict == Verdict::kTornTail) << before.words;

    std::map<std::string, uint64_t> open;  // counted by the plain way, over the whole ledger
    int found = 0;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(path));
    ASSERT_THAT(ReadEntries(path, Direction::kOldestFirst, 0,
                            [&](uint64_t index, std::string_view line) {
                              const std::string id(PlainMember(line, "request_id"));
                              EXPECT_EQ(PlainMember(line, "id"), base::StrCat("edge-", index));
                              if (PlainMember(line, "kind") == "outcome") return open.erase(id), true;
                              open[id] = index;
                              if (id.starts_with(base::StrCat(round, '-'))) {
                                EXPECT_EQ(id, base::StrCat(round, '-', found++));
                              }
                              return true;
                            }),
                IsOk());
    ASSERT_GE(found, acks) << round;
    ASSERT_EQ(ledger->open_intents().size(), open.size()) << round;
    for (const OpenIntent& intent : ledger->open_intents()) EXPECT_EQ(open.at(intent.request_id), intent.index);
    ASSERT_THAT(ledger->Close(), IsOk());
    const VerifyReport after = Verify(path, TestKeyText(), {});
    ASSERT_TRUE(after.whole()) << after.words;
    EXPECT_EQ(after.beyond_checkpoint, 0u);
  }
}

// A ledger of six entries of which the checkpoint covers five.
class TornTailTest : public testing::Test {
 protected:
  void SetUp() override {
    MakeLedger(path_, 5);
    const std::string checkpoint = Slurp(path_ + "/checkpoint");
    covered_ = Slurp(FirstSegment(path_));
    MakeLedger(path_, 1);
    whole_ = Slurp(FirstSegment(path_));
    Spill(path_ + "/checkpoint", checkpoint);
    std::filesystem::copy(path_, folder_ / "kept", std::filesystem::copy_options::recursive);
  }

  // Puts `bytes` into a fresh copy, expects a torn tail after `entries`, then a ledger that goes on behind them.
  void Mend(const std::string& bytes, uint64_t entries, std::string_view torn) {
    std::filesystem::remove_all(path_);
    std::filesystem::copy(folder_ / "kept", path_, std::filesystem::copy_options::recursive);
    Spill(FirstSegment(path_), bytes);
    const VerifyReport before = Verify(path_, TestKeyText(), {});
    EXPECT_EQ(before.verdict, torn.empty() ? Verdict::kWhole : Verdict::kTornTail) << before.words;
    EXPECT_EQ(before.torn_bytes, torn.size());
    {
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(path_));
      EXPECT_EQ(ledger->health().size, entries);
      EXPECT_EQ(ledger->repair().torn_bytes, torn.size());
      EXPECT_EQ(ledger->repair().beyond_checkpoint, entries - 5);
      if (!torn.empty()) {
        EXPECT_EQ(Slurp(ledger->repair().torn_file), torn);
      }
      ASSERT_THAT(ledger->Append(Intent("next"), nullptr), IsOk());
    }
    const VerifyReport after = Verify(path_, TestKeyText(), {});
    EXPECT_TRUE(after.whole()) << after.words;
    EXPECT_EQ(after.entries, entries + 1);
  }

  const Folder folder_;
  const std::string path_ = folder_ / "l";
  std::string covered_, whole_;
};

TEST_F(TornTailTest, CutAtEveryByteOfTheLastEntry) {
  for (std::size_t size = covered_.size(); size <= whole_.size(); ++size) {
    const bool cut = size > covered_.size() && size < whole_.size();
    Mend(whole_.substr(0, size), size == whole_.size() ? 6 : 5,
         cut ? std::string_view(whole_).substr(covered_.size(), size - covered_.size()) : std::string_view());
  }
}

TEST_F(TornTailTest, RandomBytesBehindTheLastEntry) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    std::string garbage;
    for (int i = 0; i < 300; ++i) garbage.push_back(static_cast<char>(random()));
    if (round % 2 == 0) garbage[150] = '\n';
    if (round % 4 == 0) garbage.back() = '\n';
    Mend(whole_ + garbage, 6, garbage);
  }
  Mend(whole_ + "\n", 6, "\n");
  Mend(whole_ + std::string(100'000, 'x'), 6, std::string(100'000, 'x'));
  Mend(whole_ + "{\"a\":1, \"b\":2}\n", 6, "{\"a\":1, \"b\":2}\n");  // JSON, but not canonical
}

TEST_F(TornTailTest, ALaterSegmentThatDoesNotContinueIsSetAside) {
  const std::string stray = folder_ / "kept/entries/00000000000000000009.jsonl";
  Spill(stray, "{\"a\":1}\n");
  Mend(whole_, 6, "{\"a\":1}\n");
}

}  // namespace
}  // namespace credbroker::audit
