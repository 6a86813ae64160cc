#include "audit/ledger.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "audit/intents.h"
#include "audit/reader.h"
#include "audit/segments.h"
#include "audit/verify.h"
#include "unit/audit/folder.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

// Level-triggered: the ledger's own thread gets there, or the test runs into its time limit.
void WaitUntil(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::yield();
}

std::vector<std::string> Lines(const std::string& folder) {
  std::vector<std::string> lines;
  EXPECT_THAT(ReadEntries(folder, Direction::kOldestFirst, 0,
                          [&](uint64_t index, std::string_view line) {
                            EXPECT_EQ(index, lines.size());
                            lines.emplace_back(line);
                            return true;
                          }),
              IsOk());
  return lines;
}

void ExpectWhole(const std::string& folder, uint64_t entries) {
  const VerifyReport report = Verify(folder, TestKeyText(), {});
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.words;
  EXPECT_EQ(report.entries, entries);
}

TEST(LedgerTest, ANewLedgerIsALedgerFolderAtOnce) {
  const Folder folder;
  const std::string path = folder / "deep/ledger";
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(path));
  EXPECT_TRUE(IsLedgerFolder(path));
  EXPECT_EQ(Slurp(path + "/checkpoint"), ledger->checkpoint());
  EXPECT_EQ(Slurp(path + "/log.vkey"), TestKeyText() + "\n");
  ExpectWhole(path, 0);
}

TEST(LedgerTest, FilesArePrivateUnderAnyUmask) {
  const Folder folder;
  const mode_t before = umask(0);
  MakeLedger(folder / "l", 300);
  umask(before);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "l")) {
    const auto mode = static_cast<unsigned>(entry.status().permissions()) & 0777;
    EXPECT_EQ(mode, entry.is_directory() ? 0700u : 0600u) << entry.path();
  }
}

TEST(LedgerTest, GivesPositionsAndIds) {
  const Folder folder;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  for (uint64_t i = 0; i < 3; ++i) {
    Position position;
    ASSERT_THAT(ledger->Append(Intent(base::StrCat("r-", i)), &position), IsOk());
    EXPECT_EQ(position.index, i);
  }
  ASSERT_OK_AND_ASSIGN(const IntentReceipt receipt, ledger->AppendIntent(Intent("r-3")));
  EXPECT_EQ(receipt.position().index, 3u);
  EXPECT_THAT(ledger->AppendIntent(Outcome("r-3")), FailsWith(ErrorCode::kInternal));
  EXPECT_THAT(ledger->AppendIntent(Intent("")), FailsWith(ErrorCode::kInternal));
  const std::vector<std::string> lines = Lines(folder / "l");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(PlainMember(lines[2], "id"), "edge-2");
}

// The ledger's own thread may have written them before, which is as good.
TEST(LedgerTest, TheFirstCommitWritesAllThatIsStaged) {
  const Folder folder;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  std::vector<StagedIntent> staged;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const StagedIntent intent, ledger->StageIntent(Intent(base::StrCat("r-", i))));
    EXPECT_EQ(intent.position().index, static_cast<uint64_t>(i));
    staged.push_back(intent);
  }
  ASSERT_OK_AND_ASSIGN(const IntentReceipt receipt, ledger->Commit(staged[1]));
  EXPECT_EQ(receipt.position().index, 1u);
  EXPECT_EQ(Lines(folder / "l").size(), 3u);
  EXPECT_THAT(ledger->Commit(staged[0]), IsOk());
  EXPECT_THAT(ledger->Commit(staged[2]), IsOk());
  EXPECT_THAT(ledger->StageIntent(Outcome("r-0")), FailsWith(ErrorCode::kInternal));
  ASSERT_THAT(ledger->Close(), IsOk());
  EXPECT_THAT(ledger->StageIntent(Intent("late")), FailsWith(ErrorCode::kLedgerUnavailable));
  ExpectWhole(folder / "l", 3);
}

TEST(LedgerTest, TrailingRecordsKeepTheOrderOfCalls) {
  const Folder folder;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  for (int i = 0; i < 100; ++i) {
    const model::Record record = Outcome(base::StrCat("r-", i));
    ASSERT_THAT(i % 3 == 0 ? ledger->Append(record, nullptr) : ledger->AppendLater(record), IsOk());
  }
  // Without another Append the ledger's thread writes them.
  WaitUntil([&] { return *CountEntries(folder / "l") == 100; });
  ASSERT_THAT(ledger->Close(), IsOk());
  const std::vector<std::string> lines = Lines(folder / "l");
  ASSERT_EQ(lines.size(), 100u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(PlainMember(lines[i], "request_id"), base::StrCat("r-", i));
    EXPECT_EQ(PlainMember(lines[i], "id"), base::StrCat("edge-", i));
  }
  ExpectWhole(folder / "l", 100);
}

TEST(LedgerTest, CloseCoversEverythingAndEndsAppends) {
  const Folder folder;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  ASSERT_THAT(ledger->Append(Intent("r"), nullptr), IsOk());
  ASSERT_THAT(ledger->AppendLater(Outcome("r")), IsOk());
  ASSERT_THAT(ledger->Close(), IsOk());
  ASSERT_THAT(ledger->Close(), IsOk());
  EXPECT_EQ(ledger->health().checkpoint_size, 2u);
  EXPECT_FALSE(ledger->health().writable);
  EXPECT_THAT(ledger->Append(Intent("q"), nullptr), FailsWith(ErrorCode::kLedgerUnavailable));
  EXPECT_THAT(ledger->AppendLater(Intent("q")), FailsWith(ErrorCode::kLedgerUnavailable));
  absl::Status late;
  ledger->WhenDurable({5}, [&](absl::Status status) { late = std::move(status); });
  EXPECT_THAT(late, FailsWith(ErrorCode::kLedgerUnavailable));
  ExpectWhole(folder / "l", 2);
}

TEST(LedgerTest, OneProcessAFolder) {
  const Folder folder;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  EXPECT_THAT(OpenLedger(folder / "l"), FailsWith(ErrorCode::kAlreadyRunning));
}

TEST(LedgerTest, AnotherKeyIsRefused) {
  const Folder folder;
  MakeLedger(folder / "l", 1);
  EXPECT_THAT(Ledger::Open(folder / "l", kOrigin, TestKey('x'), {}, base::SystemClock()),
              FailsWith(ErrorCode::kLedgerTampered));
  std::filesystem::remove(folder / "l/log.vkey");
  EXPECT_THAT(Ledger::Open(folder / "l", kOrigin, TestKey('x'), {}, base::SystemClock()),
              FailsWith(ErrorCode::kLedgerTampered));
}

TEST(LedgerTest, GoesOnAfterReopeningOverManySegments) {
  const Folder folder;
  LedgerOptions options;
  options.segment_bytes = 4096;
  for (int round = 0; round < 5; ++round) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l", options));
    EXPECT_EQ(ledger->health().size, static_cast<uint64_t>(round) * 100);
    EXPECT_EQ(ledger->repair().torn_bytes, 0u);
    EXPECT_FALSE(ledger->repair().tiles_rebuilt);
    for (int i = 0; i < 100; ++i) ASSERT_THAT(ledger->Append(Intent(base::StrCat("r-", round, '-', i)), nullptr), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<SegmentFile> segments, ListSegments(folder / "l"));
  EXPECT_GT(segments.size(), 10u);
  for (const SegmentFile& segment : segments) EXPECT_LE(segment.bytes, 4096u);
  EXPECT_EQ(Lines(folder / "l").size(), 500u);
  ExpectWhole(folder / "l", 500);
}

TEST(LedgerTest, MissingTilesAreMadeAnew) {
  const Folder folder;
  MakeLedger(folder / "l", 300);
  std::filesystem::remove_all(folder / "l/tile");
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
    EXPECT_TRUE(ledger->repair().tiles_rebuilt);
    ASSERT_THAT(ledger->Append(Intent("r"), nullptr), IsOk());
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "l/tile/0/000"));
  ExpectWhole(folder / "l", 301);
}

TEST(LedgerTest, SyncsAndSignsWithinTheStatedDelays) {
  const Folder folder;
  base::FakeClock clock;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, Ledger::Open(folder / "l", kOrigin, TestKey(), {}, clock));
  ASSERT_THAT(ledger->Append(Intent("r"), nullptr), IsOk());
  EXPECT_EQ(ledger->health().durable_size, 0u);
  clock.Advance(absl::Milliseconds(50));
  WaitUntil([&] { return ledger->health().durable_size == 1; });
  EXPECT_EQ(ledger->health().fsync_count, 1u);
  EXPECT_EQ(ledger->health().checkpoint_size, 0u);
  clock.Advance(absl::Seconds(1));
  WaitUntil([&] { return ledger->health().checkpoint_size == 1; });
  EXPECT_EQ(ledger->checkpoint(), Slurp(folder / "l/checkpoint"));
}

TEST(LedgerTest, WhenDurableComesAfterTheSyncAndWithoutDelay) {
  const Folder folder;
  base::FakeClock clock;
  LedgerOptions options;
  options.durability = Durability::kSync;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, Ledger::Open(folder / "l", kOrigin, TestKey(), options, clock));
  std::atomic<int> done = 0;
  for (int i = 0; i < 50; ++i) {
    Position position;
    ASSERT_THAT(ledger->Append(Intent(base::StrCat("r-", i)), &position), IsOk());
    ledger->WhenDurable(position, [&, position](absl::Status status) {
      EXPECT_THAT(status, IsOk());
      EXPECT_GT(ledger->health().durable_size, position.index);
      ++done;
    });
  }
  WaitUntil([&] { return done == 50; });
  EXPECT_LE(ledger->health().fsync_count, 50u);
  bool at_once = false;
  ledger->WhenDurable({0}, [&](absl::Status status) { at_once = status.ok(); });
  EXPECT_TRUE(at_once);
}

TEST(LedgerTest, ManyThreadsAppendOneChain) {
  const Folder folder;
  constexpr int kThreads = 4, kEach = 400;
  LedgerOptions options;
  options.segment_bytes = 32768;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l", options));
  std::atomic<int> durable = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        Position position;
        ASSERT_THAT(ledger->Append(Intent(base::StrCat(t, '-', i)), &position), IsOk());
        ASSERT_THAT(ledger->AppendLater(Outcome(base::StrCat(t, '-', i))), IsOk());
        if (i % 16 == 0) ledger->WhenDurable(position, [&](absl::Status status) { durable += status.ok(); });
        if (i % 64 == 0) {
          EXPECT_TRUE(ledger->health().writable);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_THAT(ledger->Flush(), IsOk());
  EXPECT_EQ(durable, kThreads * kEach / 16);
  ASSERT_THAT(ledger->Close(), IsOk());
  std::vector<int> next(kThreads, 0);
  for (const std::string& line : Lines(folder / "l")) {
    if (PlainMember(line, "kind") != "intent") continue;
    const std::string id(PlainMember(line, "request_id"));
    EXPECT_EQ(id.substr(2), std::to_string(next[static_cast<std::size_t>(id[0] - '0')]++));
  }
  ExpectWhole(folder / "l", 2u * kThreads * kEach);
}

TEST(LedgerTest, OpenIntentsAreThoseWithoutOutcome) {
  const Folder folder;
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
    EXPECT_TRUE(ledger->open_intents().empty());
    for (int i = 0; i < 10'000; ++i) {
      Position position;
      ASSERT_THAT(ledger->Append(Intent(base::StrCat("r-", i)), &position), IsOk());
      if (i < 5000 ? true : i % 1000 != 0) {
        ASSERT_THAT(ledger->AppendLater(Outcome(base::StrCat("r-", i), position.index)), IsOk());
      }
      if (i == 4999) {
        ASSERT_THAT(ledger->Flush(), IsOk());
      }
    }
  }
  EXPECT_GE(std::stoull(Slurp(folder / "l/open-from")), 4096u);
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
    ASSERT_EQ(ledger->open_intents().size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
      const OpenIntent& open = ledger->open_intents()[i];
      EXPECT_EQ(open.request_id, base::StrCat("r-", 5000 + 1000 * i));
      EXPECT_EQ(PlainMember(open.line, "id"), base::StrCat("edge-", open.index));
    }
    if (round == 0) Spill(folder / "l/open-from", "99999999999\n");  // a hint that cannot be: everything is read
  }
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
    for (const OpenIntent& open : ledger->open_intents()) {
      ASSERT_THAT(ledger->AppendLater(Outcome(open.request_id, open.index)), IsOk());
    }
  }
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  EXPECT_TRUE(ledger->open_intents().empty());
}

// Appends go on failing at once, revocation-like calls of others are not touched, and it recovers by itself.
void FillUpAndRecover(const std::string& path, const std::function<void()>& fill, const std::function<void()>& free) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(path));
  for (int i = 0; i < 20; ++i) ASSERT_THAT(ledger->Append(Intent(base::StrCat("a-", i)), nullptr), IsOk());
  ASSERT_THAT(ledger->AppendLater(Outcome("a-0")), IsOk());
  fill();
  uint64_t taken = 21;
  while (ledger->Append(Intent("fill"), nullptr).ok()) ++taken;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) {
    Position position{77};
    EXPECT_THAT(ledger->Append(Intent(base::StrCat("lost-", i)), &position), FailsWith(ErrorCode::kLedgerUnavailable));
    EXPECT_EQ(position.index, 77u);
    EXPECT_THAT(ledger->AppendIntent(Intent("lost")), FailsWith(ErrorCode::kLedgerUnavailable));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  EXPECT_FALSE(ledger->health().writable);
  EXPECT_GE(ledger->health().failed_appends, 101u);
  EXPECT_FALSE(ledger->health().last_error.ok());
  EXPECT_EQ(ledger->health().size, taken);
  free();
  for (int i = 0; i < 10; ++i) ASSERT_THAT(ledger->Append(Intent(base::StrCat("b-", i)), nullptr), IsOk());
  EXPECT_TRUE(ledger->health().writable);
  ASSERT_THAT(ledger->Flush(), IsOk());
  ExpectWhole(path, taken + 10);
  ASSERT_THAT(ledger->Close(), IsOk());
  ExpectWhole(path, taken + 10);
  for (const std::string& line : Lines(path)) EXPECT_EQ(line.find("lost"), std::string::npos);
}

TEST(LedgerTest, AFileSizeLimitShutsItAndItRecovers) {
  const Folder folder;
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  FillUpAndRecover(
      folder / "l",
      [&] {
        const rlimit low{16'001, before.rlim_max};  // in the middle of a record, so that writes come out short
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
      },
      [&] { ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0); });
}

TEST(LedgerTest, AFullDiskShutsItAndItRecovers) {
  const Folder folder;
  if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
    std::cout << "no right to mount a small disk: only the file size limit is tested\n";
    return;
  }
  FillUpAndRecover(
      folder / "l",
      [&] {
        const base::Fd filler(open((folder / "filler").c_str(), O_WRONLY | O_CREAT, 0600));
        const std::string block(4096, 'f');
        while (write(filler.get(), block.data(), block.size()) > 0) {
        }
      },
      [&] { std::filesystem::remove(folder / "filler"); });
  EXPECT_EQ(umount(folder.path().c_str()), 0);
}

TEST(LedgerTest, ACommitThatFailsLeavesAnIntentForItsOwnerToClose) {
  const Folder folder;
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  ASSERT_OK_AND_ASSIGN(const StagedIntent staged, ledger->StageIntent(Intent("half")));
  const rlimit low{1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const bool too_late = *CountEntries(folder / "l") == 1;  // the ledger's own thread was faster
  if (!too_late) {
    EXPECT_THAT(ledger->Commit(staged), FailsWith(ErrorCode::kLedgerUnavailable));
  }
  EXPECT_THAT(ledger->AppendLater(Outcome("half")), IsOk());
  WaitUntil([&] { return !ledger->health().writable; });
  EXPECT_THAT(ledger->StageIntent(Intent("lost")), FailsWith(ErrorCode::kLedgerUnavailable));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_THAT(ledger->Flush(), IsOk());
  const std::vector<std::string> lines = Lines(folder / "l");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(PlainMember(lines[0], "request_id"), "half");
  EXPECT_EQ(PlainMember(lines[1], "kind"), "outcome");
  ASSERT_THAT(ledger->Close(), IsOk());
  ExpectWhole(folder / "l", 2);
}

TEST(LedgerTest, RefusesMoreTrailingRecordsThanItMayHold) {
  const Folder folder;
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  const rlimit low{1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  uint64_t taken = 0;
  while (taken < 1'000'000 && ledger->AppendLater(Outcome("r")).ok()) ++taken;
  EXPECT_THAT(ledger->AppendLater(Outcome("r")), FailsWith(ErrorCode::kLedgerUnavailable));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_THAT(ledger->Close(), IsOk());
  ExpectWhole(folder / "l", taken);
}

// The bound of kFlush: what a power loss could take is limited in bytes too.
TEST(LedgerTest, RefusesToRunAheadOfItsDiskAndRecovers) {
  const Folder folder;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l", {.max_flush_delay = absl::Hours(1)}));
  model::Record record = Intent("r");
  record.path = std::string(2000, 'p');
  uint64_t taken = 0, bytes = 0;
  while (bytes < (32u << 20) && ledger->Append(record, nullptr).ok()) ++taken, bytes += 2000;
  EXPECT_GT(bytes, 14u << 20);
  EXPECT_LT(bytes, 17u << 20);
  EXPECT_THAT(ledger->StageIntent(record), FailsWith(ErrorCode::kLedgerUnavailable));
  ASSERT_THAT(ledger->Flush(), IsOk());
  EXPECT_THAT(ledger->Append(record, nullptr), IsOk());
  ASSERT_THAT(ledger->Close(), IsOk());
  ExpectWhole(folder / "l", taken + 1);
}

// After each of these the ledger raises an alarm and restores what was acknowledged.
void DisturbAndRecover(const std::function<void(const std::string&)>& disturb) {
  const Folder folder;
  const std::string path = folder / "l";
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(path));
  for (int i = 0; i < 30; ++i) ASSERT_THAT(ledger->Append(Intent(base::StrCat("a-", i)), nullptr), IsOk());
  ASSERT_THAT(ledger->Flush(), IsOk());
  ASSERT_THAT(ledger->Append(Intent("b"), nullptr), IsOk());
  disturb(path);
  ledger->Flush().IgnoreError();
  WaitUntil([&] { return ledger->Flush().ok(); });
  EXPECT_GE(ledger->health().alarms, 1u);
  EXPECT_FALSE(ledger->health().last_error.ok());
  ASSERT_THAT(ledger->Append(Intent("c"), nullptr), IsOk());
  ASSERT_THAT(ledger->Close(), IsOk());
  ExpectWhole(path, 32);
}

TEST(LedgerTest, ADeletedSegmentIsRestored) {
  DisturbAndRecover([](const std::string& path) { std::filesystem::remove(FirstSegment(path)); });
}

TEST(LedgerTest, AReplacedSegmentIsRestoredAndTheOtherKept) {
  DisturbAndRecover([](const std::string& path) {
    std::filesystem::remove(FirstSegment(path));
    Spill(FirstSegment(path), "{}\n");
  });
}

TEST(LedgerTest, ForeignBytesBehindItAreRemoved) {
  DisturbAndRecover([](const std::string& path) {
    std::ofstream(FirstSegment(path), std::ios::app) << "{\"kind\":\"admin\"}\n";
  });
}

TEST(LedgerTest, ADeletedFolderIsMadeAnew) {
  DisturbAndRecover([](const std::string& path) { std::filesystem::remove_all(path + "/entries"); });
}

TEST(LedgerTest, CuttingDurableEntriesShutsIt) {
  const Folder folder;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder / "l"));
  for (int i = 0; i < 10; ++i) ASSERT_THAT(ledger->Append(Intent(base::StrCat("a-", i)), nullptr), IsOk());
  ASSERT_THAT(ledger->Flush(), IsOk());
  ASSERT_EQ(truncate(FirstSegment(folder / "l").c_str(), 100), 0);
  ledger->Append(Intent("b"), nullptr).IgnoreError();
  ledger->Flush().IgnoreError();
  WaitUntil([&] { return !ledger->health().writable; });
  EXPECT_THAT(ledger->Append(Intent("c"), nullptr), FailsWith(ErrorCode::kLedgerUnavailable));
  EXPECT_THAT(ledger->Close(), FailsWith(ErrorCode::kLedgerUnavailable));
}

TEST(SegmentsTest, RestoreWritesWhatWasNotSynced) {
  const Folder folder;
  Segments segments(folder.path(), 100);
  ASSERT_THAT(segments.Open({0, 0}), IsOk());
  ASSERT_THAT(segments.Write("{\"a\":1}\n", 0), IsOk());
  const Border durable = segments.border();
  const Segments::File file = segments.file();
  const std::string lost = "{\"b\":\"" + std::string(60, 'b') + "\"}\n{\"c\":\"" + std::string(60, 'c') + "\"}\n";
  const std::size_t half = lost.find('\n') + 1;
  ASSERT_THAT(segments.Write(lost.substr(0, half), 1), IsOk());
  ASSERT_THAT(segments.Write(lost.substr(half), 2), IsOk());
  EXPECT_EQ(segments.border().first_index, 2u);
  ASSERT_THAT(segments.Restore(durable, *file, lost), IsOk());
  EXPECT_EQ(Slurp(SegmentPath(folder.path(), 0)), "{\"a\":1}\n" + lost);
  EXPECT_EQ(ListSegments(folder.path())->size(), 1u);
  EXPECT_THAT(segments.CheckInPlace(), IsOk());
  ASSERT_THAT(segments.Write("{}\n", 3), IsOk());
  EXPECT_EQ(segments.border().first_index, 3u);
}

}  // namespace
}  // namespace credbroker::audit
