#include <CLI/CLI.hpp>

#include "audit/note.h"
#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/table.h"
#include "credbroker/v1/evidence.pb.h"
#include "evidence/bundle.h"
#include "evidence/changes.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

using base::Error;
using base::ErrorCode;

constexpr mode_t kReadableByAll = 0644;
constexpr std::size_t kMaxFile = 64 << 20;

struct AnswerOptions {
  std::string format, group, audience, out;
};

struct BundleOptions {
  std::string out, verify, key;
};

void PrintAnswers(Context& context, const Json& pack) {
  Table table({{"ID"}, {"GROUP"}, {"KIND", 20}, {"QUESTION", 50}, {"ANSWER", 100}});
  for (const Json& answer : pack["answers"]) {
    table.Add({TextCell(answer, "id"), TextCell(answer, "group"), TextCell(answer, "kind"), TextCell(answer, "question"), TextCell(answer, "value")});
  }
  context.Print(base::StrCat("configuration ", Cell(TextCell(pack, "config_digest"), 80), "  pilot ", Cell(TextCell(pack, "pilot"), 80),
                             pack["stale"] == true ? "  STALE: not reviewed within a year\n" : "\n", table.Text()));
}

absl::StatusOr<int> Answers(Context& context, const AnswerOptions& options) {
  v1::GetAnswersRequest request;
  v1::GetAnswersReply reply;
  request.set_format(options.format.empty() ? "json" : options.format);
  request.set_group(options.group);
  request.set_audience(options.audience);
  RETURN_IF_ERROR(context.broker().GetAnswers(request, &reply));
  if (!options.out.empty()) {
    RETURN_IF_ERROR(base::WriteFileAtomic(options.out, reply.document(), kReadableByAll));
    context.Note(base::StrCat("wrote ", options.out));
    return kDone;
  }
  // A document that was asked for by its format is printed as it is; without one a person gets a table.
  if (!options.format.empty() && !context.json()) {
    context.Print(reply.document());
    return kDone;
  }
  if (!options.format.empty() && options.format != "json") return Error(ErrorCode::kBadArgument, "--output json goes with --format json");
  const Json pack = Json::parse(reply.document(), nullptr, false);
  if (!pack.is_object() || !pack.contains("answers")) return Error(ErrorCode::kInternal, "the broker's answer is no evidence");
  context.json() ? context.PrintJson(pack) : PrintAnswers(context, pack);
  return kDone;
}

// Everything from the file and the pinned key; a key from inside the file proves only that it is consistent.
absl::StatusOr<int> VerifyBundle(Context& context, const BundleOptions& options) {
  ASSIGN_OR_RETURN(const std::string bytes, base::ReadFile(options.verify, kMaxFile), "reading the bundle");
  ASSIGN_OR_RETURN(std::vector<evidence::Part> parts, evidence::UnpackTar(bytes));
  if (parts.front().name != evidence::kManifest) return Error(ErrorCode::kBundleInvalid, "the manifest is missing");
  const std::string manifest = std::move(parts.front().content);
  parts.erase(parts.begin());
  std::string key_text;
  for (const evidence::Part& part : parts) key_text = part.name == "ledger.vkey" ? part.content : key_text;
  if (!options.key.empty()) {
    ASSIGN_OR_RETURN(key_text, base::ReadFile(options.key, 4096), "reading the key");
  }
  ASSIGN_OR_RETURN(const audit::NoteKey key, audit::ParseNoteKey(key_text), "the manifest's key");
  const auto note = audit::OpenNote(manifest, {&key, 1});
  if (!note.ok()) return Error(ErrorCode::kBundleInvalid, base::StrCat("MANIFEST: ", base::View(note.status().message())));
  RETURN_IF_ERROR(evidence::CheckParts(note->text, parts));
  const bool pinned = !options.key.empty();
  if (context.json()) {
    Json names = Json::array();
    for (const evidence::Part& part : parts) names.push_back(part.name);
    context.PrintJson({{"whole", true}, {"key", audit::NoteKeyText(key)}, {"pinned", pinned}, {"parts", names}});
    return kDone;
  }
  context.Print(base::StrCat("whole: ", parts.size(), " parts, signed by ", key.name, "\n"));
  if (!pinned) context.Note("the key came from the bundle itself: pin it with --key FILE to know who made it");
  return kDone;
}

absl::StatusOr<int> MakeBundle(Context& context, const BundleOptions& options) {
  if (!options.verify.empty()) return VerifyBundle(context, options);
  if (options.out.empty()) return Error(ErrorCode::kBadArgument, "give --out FILE to make a bundle, or --verify FILE to check one");
  v1::GetBundleReply reply;
  RETURN_IF_ERROR(context.broker().GetBundle({}, &reply));
  RETURN_IF_ERROR(base::WriteFileAtomic(options.out, reply.tar(), kReadableByAll));
  if (context.json()) {
    context.PrintJson({{"file", options.out}, {"bytes", reply.tar().size()}, {"key", reply.key()}});
  } else {
    context.Print(base::StrCat("wrote ", Cell(options.out, 200), ", ", reply.tar().size(), " bytes\nkey ", Cell(reply.key(), 200), "\n"));
  }
  return kDone;
}

absl::StatusOr<int> Compare(Context& context, const std::string& before, const std::string& after) {
  ASSIGN_OR_RETURN(const std::string old_text, base::ReadFile(before, kMaxFile));
  ASSIGN_OR_RETURN(const std::string new_text, base::ReadFile(after, kMaxFile));
  ASSIGN_OR_RETURN(const std::vector<evidence::Change> changes, evidence::Compare(old_text, new_text));
  if (context.json()) {
    Json rows = Json::array();
    for (const evidence::Change& one : changes) {
      rows.push_back({{"id", one.id}, {"material", one.material}, {"question", one.question}, {"before", one.before}, {"after", one.after}});
    }
    context.PrintJson(rows);
    return kDone;
  }
  Table table({{"ID"}, {"MATERIAL"}, {"QUESTION", 40}, {"BEFORE", 70}, {"AFTER", 70}});
  for (const evidence::Change& one : changes) table.Add({one.id, one.material, one.question, one.before, one.after});
  context.Print(changes.empty() ? "no difference\n" : table.Text());
  return kDone;
}

void AddDiff(CLI::App& group, Action& chosen) {
  const auto before = std::make_shared<std::string>(), after = std::make_shared<std::string>();
  CLI::App* leaf = AddLeaf(group, "diff", {"What changed between two sets of answers; isolation, retention and network defaults first", "credbroker evidence diff march.json june.json",
                                           "`credbroker policy diff` shows the rules behind it"});
  leaf->add_option("BEFORE", *before, "what `evidence answers --format json` printed")->required();
  leaf->add_option("AFTER", *after, "the same, later")->required();
  OnChosen(leaf, chosen, [before, after](Context& context) { return Compare(context, *before, *after); });
}

}  // namespace

void AddEvidenceCommands(CLI::App& app, Action& chosen) {
  CLI::App* group = AddGroup(app, "evidence", {"Written answers with proof, made from what runs", "credbroker evidence answers --format html --out answers.html",
                                               "`credbroker evidence bundle --out evidence.tar` puts all of it into one signed file"});
  const auto answers = std::make_shared<AnswerOptions>();
  CLI::App* leaf = AddLeaf(*group, "answers", {"The questionnaire, S1 to S77, answered from the running configuration", "credbroker evidence answers --group secrets",
                                               "what only the operator knows stands under `declared:` in the broker's configuration"});
  leaf->add_option("--format", answers->format, "json, markdown or html")->check(CLI::IsMember({"json", "markdown", "html"}));
  leaf->add_option("--group", answers->group, "isolation, network, secrets, git, data or evidence");
  leaf->add_option("--audience", answers->audience, "security, platform, legal or engineering");
  leaf->add_option("--out", answers->out, "write to this file instead");
  OnChosen(leaf, chosen, [answers](Context& context) { return Answers(context, *answers); });

  const auto bundle = std::make_shared<BundleOptions>();
  leaf = AddLeaf(*group, "bundle", {"Answers, architecture, pilot, checkpoint and proof in one signed tar file; or the check of one, offline", "credbroker evidence bundle --out evidence.tar",
                                    "`credbroker evidence bundle --verify evidence.tar --key ledger.vkey` needs no broker"});
  CLI::Option* out = leaf->add_option("--out", bundle->out, "write the bundle to this file");
  leaf->add_option("--verify", bundle->verify, "check this bundle instead")->excludes(out);
  leaf->add_option("--key", bundle->key, "file with the broker's verifier key, from a place that you trust");
  OnChosen(leaf, chosen, [bundle](Context& context) { return MakeBundle(context, *bundle); });
  AddDiff(*group, chosen);
}

}  // namespace credbroker::client
