#include <unistd.h>

#include <CLI/CLI.hpp>

#include "audit/prove.h"
#include "audit/reader.h"
#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/checkpoint_file.h"
#include "client/command.h"
#include "client/ledger_check.h"
#include "client/table.h"
#include "credbroker/v1/audit.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr mode_t kReadableByAll = 0644;

absl::StatusOr<v1::GetCheckpointsReply> AskCheckpoints(Context& context) {
  v1::GetCheckpointsReply reply;
  RETURN_IF_ERROR(context.broker().GetCheckpoints({}, &reply));
  return reply;
}

struct VerifyOptions {
  std::vector<std::string> ledgers;
  std::string checkpoint, key;
};

// What the broker itself says of the ledgers that this user cannot read.
absl::Status AskVerdicts(Context& context, const std::vector<std::string>& unread, std::vector<LedgerCheck>* checks) {
  v1::VerifyLedgersReply reply;
  RETURN_IF_ERROR(context.broker().VerifyLedgers({}, &reply));
  for (const std::string& name : unread) {
    LedgerCheck check{
        .ledger = name, .verdict = "unreadable", .words = "The broker did not verify it.", .checked_by = "broker"};
    for (const auto& verdict : reply.verdicts()) {
      if (verdict.ledger() != name) continue;
      check.folder = verdict.folder();
      check.whole = verdict.whole();
      check.verdict = verdict.verdict();
      check.words = verdict.words();
      check.entries = verdict.entries();
    }
    checks->push_back(std::move(check));
  }
  return absl::OkStatus();
}

// Folders that the broker names are verified here when they can be read, because a verdict of one's own is worth more.
absl::StatusOr<std::vector<LedgerCheck>> CheckNamedByBroker(Context& context, const Pins& pins) {
  ASSIGN_OR_RETURN(const v1::GetCheckpointsReply reply, AskCheckpoints(context));
  std::vector<LedgerPlace> places;
  std::vector<std::string> unread;
  for (const auto& ledger : reply.checkpoints()) {
    const bool readable = access(base::StrCat(ledger.folder(), "/checkpoint").c_str(), R_OK) == 0;
    if (context.settings().local && readable) {
      places.push_back({ledger.ledger(), ledger.folder(), ledger.vkey(), ledger.note()});
    } else {
      unread.push_back(ledger.ledger());
    }
  }
  std::vector<LedgerCheck> checks = CheckLedgers(places, pins);
  if (unread.empty()) return checks;
  if (!pins.empty()) {
    return base::Error(base::ErrorCode::kFileUnreadable,
                       base::StrCat("pins hold for folders that can be read here; not readable: ", Joined(unread)));
  }
  RETURN_IF_ERROR(AskVerdicts(context, unread, &checks));
  return checks;
}

absl::StatusOr<std::vector<LedgerCheck>> CheckFolders(const std::vector<std::string>& folders, const Pins& pins) {
  std::vector<LedgerPlace> places;
  for (const std::string& folder : folders) {
    const std::vector<std::string> found = FindLedgers(folder);
    if (found.empty()) {
      return base::Error(base::ErrorCode::kFileUnreadable,
                         base::StrCat("no ledger (no file `checkpoint`) in ", folder));
    }
    for (const std::string& ledger : found) places.push_back({.folder = ledger});
  }
  return CheckLedgers(places, pins);
}

void PrintChecks(Context& context, const std::vector<LedgerCheck>& checks, bool whole) {
  if (context.json()) {
    Json rows = Json::array();
    for (const LedgerCheck& check : checks) rows.push_back(CheckJson(check));
    context.PrintJson({{"whole", whole}, {"ledgers", rows}});
    return;
  }
  Table table({{"LEDGER", 24}, {"ENTRIES"}, {"VERDICT"}, {"", 300}});
  for (const LedgerCheck& check : checks) {
    table.Add({check.ledger, base::StrCat(check.entries), check.verdict, check.words});
  }
  context.Print(table.Text());
}

absl::StatusOr<int> Verify(Context& context, const VerifyOptions& options) {
  ASSIGN_OR_RETURN(const Pins pins, Pins::Read(options.key, options.checkpoint));
  ASSIGN_OR_RETURN(const std::vector<LedgerCheck> checks,
                   options.ledgers.empty() ? CheckNamedByBroker(context, pins) : CheckFolders(options.ledgers, pins));
  const LedgerCheck* broken = nullptr;
  for (const LedgerCheck& check : checks) {
    if (!check.whole && broken == nullptr) broken = &check;
  }
  PrintChecks(context, checks, broken == nullptr && !checks.empty());
  if (checks.empty()) return base::Error(base::ErrorCode::kFileUnreadable, "the broker names no ledger");
  if (broken != nullptr) return VerdictError(*broken);
  return kDone;
}

struct ProveOptions {
  std::string id, ledger, out, key;
};

// Where the record's ledger is: named by hand, or by the broker under the id's name part.
absl::StatusOr<std::string> FolderOf(Context& context, const ProveOptions& options, std::string_view name) {
  if (!options.ledger.empty()) return options.ledger;
  ASSIGN_OR_RETURN(const v1::GetCheckpointsReply reply, AskCheckpoints(context));
  for (const auto& ledger : reply.checkpoints()) {
    if (ledger.ledger() == name) return ledger.folder();
  }
  return base::Error(base::ErrorCode::kRecordNotFound, base::StrCat("no ledger is called ", name));
}

absl::StatusOr<int> Prove(Context& context, const ProveOptions& options) {
  const std::size_t dash = options.id.rfind('-');
  uint64_t index = 0;
  if (dash == std::string::npos || !base::ParseInt(std::string_view(options.id).substr(dash + 1), &index)) {
    return base::Error(base::ErrorCode::kBadArgument, "a record's id is LEDGER-INDEX, like edge-7");
  }
  ASSIGN_OR_RETURN(const std::string folder, FolderOf(context, options, options.id.substr(0, dash)));
  ASSIGN_OR_RETURN(const std::string line, audit::ReadEntry(folder, index), base::StrCat("reading ", options.id));
  ASSIGN_OR_RETURN(const std::string proof, audit::ProveEntry(folder, index), base::StrCat("proving ", options.id));
  ASSIGN_OR_RETURN(const std::string key,
                   base::ReadFile(options.key.empty() ? folder + "/log.vkey" : options.key, 64 << 10));
  RETURN_IF_ERROR(audit::CheckProof(proof, line, key), "checking the proof");
  if (!options.out.empty()) RETURN_IF_ERROR(base::WriteFileAtomic(options.out, proof, kReadableByAll));
  if (context.json()) {
    context.PrintJson(
        {{"id", options.id}, {"index", index}, {"ledger", folder}, {"record", line}, {"proof", proof}, {"key", key}});
    return kDone;
  }
  if (options.out.empty()) context.Print(proof);
  context.Note(base::StrCat("the ledger holds ", options.id, ", and this proof shows it to whoever pins its key"));
  return kDone;
}

struct CheckpointOptions {
  std::string out, ledger, key_out;
};

absl::StatusOr<int> Checkpoint(Context& context, const CheckpointOptions& options) {
  ASSIGN_OR_RETURN(const v1::GetCheckpointsReply reply, AskCheckpoints(context));
  Json rows = Json::array();
  std::vector<std::string> notes;
  std::string keys;
  for (const auto& ledger : reply.checkpoints()) {
    if (!options.ledger.empty() && ledger.ledger() != options.ledger) continue;
    rows.push_back(ToJson(ledger));
    notes.push_back(ledger.note());
    base::StrAppend(&keys, ledger.vkey(), "\n");
  }
  if (notes.empty())
    return base::Error(base::ErrorCode::kRecordNotFound, base::StrCat("no ledger is called ", options.ledger));
  const std::string file = JoinNotes(notes);
  if (!options.out.empty()) RETURN_IF_ERROR(base::WriteFileAtomic(options.out, file, kReadableByAll));
  if (!options.key_out.empty()) RETURN_IF_ERROR(base::WriteFileAtomic(options.key_out, keys, kReadableByAll));
  if (context.json()) {
    context.PrintJson(rows);
    return kDone;
  }
  if (options.out.empty()) context.Print(file);
  return kDone;
}

}  // namespace

void AddLedgerCommands(CLI::App& audit, Action& chosen) {
  const auto verify = std::make_shared<VerifyOptions>();
  CLI::App* leaf =
      AddLeaf(audit, "verify",
              {"Prove ledgers whole, offline, with nothing but their folders and what you pinned",
               "credbroker audit verify --ledger DIR --checkpoint pinned.txt --key pinned.vkey",
               "pin the state of today: `credbroker audit checkpoint --out pinned.txt --key-out pinned.vkey`"});
  AddRepeated(leaf, "--ledger", verify->ledgers,
              "a ledger's folder, or one above; repeat for more; default: those of the broker");
  leaf->add_option("--checkpoint", verify->checkpoint, "checkpoints that you kept");
  leaf->add_option("--key", verify->key, "verifier keys that you kept, one a line");
  OnChosen(leaf, chosen, [verify](Context& context) { return Verify(context, *verify); });

  const auto prove = std::make_shared<ProveOptions>();
  leaf = AddLeaf(audit, "prove",
                 {"An inclusion proof of one record, as c2sp.org/tlog-proof writes it",
                  "credbroker audit prove edge-7 --out edge-7.proof",
                  "`credbroker audit checkpoint --key-out FILE` writes the keys that check it"});
  leaf->add_option("id", prove->id, "the record's id")->required();
  leaf->add_option("--ledger", prove->ledger, "the ledger's folder; default: where the broker says");
  leaf->add_option("--key", prove->key, "the ledger's verifier key that you kept; default: the folder's own");
  leaf->add_option("--out", prove->out, "write the proof to this file");
  OnChosen(leaf, chosen, [prove](Context& context) { return Prove(context, *prove); });

  const auto checkpoint = std::make_shared<CheckpointOptions>();
  leaf = AddLeaf(
      audit, "checkpoint",
      {"Signed checkpoints of all ledgers, made now, to pin where nobody here can write",
       "credbroker audit checkpoint --out pinned.txt", "later: `credbroker audit verify --checkpoint pinned.txt`"});
  leaf->add_option("--out", checkpoint->out, "write them to this file");
  leaf->add_option("--key-out", checkpoint->key_out, "write the verifier keys to this file, one a line");
  leaf->add_option("--ledger", checkpoint->ledger, "of this ledger only, by name");
  OnChosen(leaf, chosen, [checkpoint](Context& context) { return Checkpoint(context, *checkpoint); });
}

}  // namespace credbroker::client
