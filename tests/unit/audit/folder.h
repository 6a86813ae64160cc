#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "audit/ledger.h"
#include "audit/note.h"
#include "base/clock.h"
#include "base/secret.h"
#include "base/str.h"
#include "crypto/sign.h"
#include "kit/status_matchers.h"

namespace credbroker::audit {

// A temporary folder, removed with everything in it.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "audit-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) abort();
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return base::StrCat(path_, '/', name); }

 private:
  std::string path_;
};

inline std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void Spill(const std::string& path, std::string_view bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline constexpr char kOrigin[] = "ledger.test/edge-1";

// The same key for every ledger of a test, so that a ledger can be opened again.
inline crypto::SigningKey TestKey(char fill = 'k') {
  return *crypto::SigningKey::FromSeed(base::Secret::Copy(std::string(32, fill)));
}

inline std::string TestKeyText(char fill = 'k') {
  return NoteKeyText(MakeNoteKey(kOrigin, TestKey(fill).public_key().bytes()));
}

inline absl::StatusOr<std::unique_ptr<Ledger>> OpenLedger(const std::string& folder, LedgerOptions options = {}) {
  return Ledger::Open(folder, kOrigin, TestKey(), std::move(options), base::SystemClock());
}

inline model::Record TestRecord(model::RecordKind kind, std::string request_id) {
  model::Record record;
  record.kind = kind;
  record.time = absl::FromUnixSeconds(1'800'000'000);
  record.request_id = std::move(request_id);
  record.session = "s-1";
  record.host = "api.forge.example";
  record.path = "/repos/acme/web";
  return record;
}

inline model::Record Intent(std::string request_id) { return TestRecord(model::RecordKind::kIntent, std::move(request_id)); }
// As the gate writes it: what its intent does not say.
inline model::Record Outcome(std::string request_id, uint64_t intent = 0) {
  model::Record record;
  record.kind = model::RecordKind::kOutcome;
  record.time = absl::FromUnixSeconds(1'800'000'000);
  record.request_id = std::move(request_id);
  record.intent = static_cast<int64_t>(intent);
  record.outcome = "done";
  record.status = 200;
  return record;
}

// A closed ledger of `count` denials.
inline void MakeLedger(const std::string& folder, int count, LedgerOptions options = {}) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Ledger> ledger, OpenLedger(folder, std::move(options)));
  for (int i = 0; i < count; ++i) {
    ASSERT_THAT(ledger->Append(TestRecord(model::RecordKind::kDeny, base::StrCat("r-", i)), nullptr), testing_kit::IsOk());
  }
  ASSERT_THAT(ledger->Close(), testing_kit::IsOk());
}

inline std::string FirstSegment(const std::string& folder) { return folder + "/entries/00000000000000000000.jsonl"; }

}  // namespace credbroker::audit
