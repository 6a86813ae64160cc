#include "client/ledger_check.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "audit/ledger.h"
#include "base/clock.h"
#include "base/file.h"
#include "client/checkpoint_file.h"
#include "crypto/sign.h"
#include "kit/status_matchers.h"

namespace credbroker::client {
namespace {

using testing_kit::IsOk;

class LedgerCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "client-ledger-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    Make("one", 3);
    Make("two", 5);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Make(const std::string& name, int entries) {
    audit::LedgerOptions options;
    options.name = name;
    ASSERT_OK_AND_ASSIGN(auto ledger,
                         audit::Ledger::Open(root_ + "/" + name, "broker.test/" + name, crypto::SigningKey::Generate(),
                                             options, base::SystemClock()));
    for (int i = 0; i < entries; ++i) {
      model::Record record;
      record.time = base::SystemClock().Now();
      record.detail = "entry";
      ASSERT_THAT(ledger->Append(record, nullptr), IsOk());
    }
    ASSERT_THAT(ledger->Close(), IsOk());
    ASSERT_OK_AND_ASSIGN(const std::string note, base::ReadFile(root_ + "/" + name + "/checkpoint", 1 << 20));
    ASSERT_OK_AND_ASSIGN(const std::string vkey, base::ReadFile(root_ + "/" + name + "/log.vkey", 1 << 20));
    notes_.push_back(note);
    keys_ += vkey + "\n";
  }

  Pins ReadPins(const std::string& keys, const std::string& notes) {
    std::ofstream(root_ + "/keys") << keys;
    std::ofstream(root_ + "/notes") << notes;
    const auto pins = Pins::Read(keys.empty() ? "" : root_ + "/keys", notes.empty() ? "" : root_ + "/notes");
    EXPECT_THAT(pins, IsOk());
    return pins.ok() ? *pins : Pins();
  }

  std::vector<LedgerCheck> Check(const Pins& pins) {
    std::vector<LedgerPlace> places;
    for (const std::string& folder : FindLedgers(root_)) places.push_back({.folder = folder});
    return CheckLedgers(places, pins);
  }

  std::string root_, keys_;
  std::vector<std::string> notes_;
};

TEST_F(LedgerCheckTest, FindsAndVerifiesEveryLedgerBelowAFolder) {
  const auto checks = Check({});
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_TRUE(checks[0].whole) << checks[0].words;
  EXPECT_EQ(checks[0].ledger, "broker.test/one");
  EXPECT_EQ(checks[1].entries, 5U);
  EXPECT_FALSE(checks[0].key_pinned);
}

TEST_F(LedgerCheckTest, EachLedgerTakesThePinsOfItsOrigin) {
  for (const LedgerCheck& check : Check(ReadPins(keys_, JoinNotes({notes_[1], notes_[0]})))) {
    EXPECT_TRUE(check.whole) << check.words;
    EXPECT_TRUE(check.key_pinned);
    EXPECT_TRUE(check.checkpoint_pinned);
  }
}

TEST_F(LedgerCheckTest, AnUnpinnedLedgerStandsBesideAPinnedOne) {
  const auto checks = Check(ReadPins("", notes_[0]));
  EXPECT_TRUE(checks[0].whole && checks[0].checkpoint_pinned) << checks[0].words;
  EXPECT_TRUE(checks[1].whole && !checks[1].checkpoint_pinned) << checks[1].words;
}

TEST_F(LedgerCheckTest, APinThatFindsNoLedgerMakesUnpinnedOnesSuspect) {
  std::string other = notes_[0];
  other.replace(other.find("one"), 3, "six");
  for (const LedgerCheck& check : Check(ReadPins("", other))) {
    EXPECT_FALSE(check.whole);
    EXPECT_EQ(check.verdict, "forked");
  }
  std::string key = keys_.substr(0, keys_.find('\n'));
  key.replace(key.find("one"), 3, "six");
  EXPECT_EQ(Check(ReadPins(key, ""))[0].verdict, "bad_signature");
}

TEST_F(LedgerCheckTest, NamesWhatHappenedByCatalogueCode) {
  const std::string entries = root_ + "/one/entries/00000000000000000000.jsonl";
  ASSERT_OK_AND_ASSIGN(std::string text, base::ReadFile(entries, 1 << 20));
  text.replace(text.find("entry"), 5, "fraud");
  std::ofstream(entries) << text;
  const auto checks = Check({});
  EXPECT_FALSE(checks[0].whole);
  EXPECT_EQ(checks[0].verdict, "edited");
  EXPECT_EQ(base::CodeOf(VerdictError(checks[0])), base::ErrorCode::kLedgerTampered);
  EXPECT_TRUE(checks[1].whole);
}

}  // namespace
}  // namespace credbroker::client
