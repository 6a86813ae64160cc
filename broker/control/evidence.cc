#include "control/evidence.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "audit/note.h"
#include "audit/prove.h"
#include "base/macros.h"
#include "base/str.h"
#include "credbroker/credbroker.h"
#include "crypto/hash.h"
#include "evidence/bundle.h"

namespace credbroker::control {
namespace {

using base::Error;
using base::ErrorCode;
using evidence::Json;
using evidence::Part;

constexpr std::size_t kMaxFindings = 64;
constexpr std::size_t kMaxDetail = 2000;
constexpr std::size_t kMaxNoteFile = 1 << 20;
constexpr int64_t kMaxCounted = 1'000'000;
constexpr std::string_view kPilotHead = "credbroker/pilot\n";

std::string PilotFile(const Core& core) { return base::StrCat(core.data_dir(), "/evidence/pilot.note"); }

std::string Second(absl::Time time) { return std::string(base::View(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()))); }

audit::NoteKey OwnKey(const Core& core) { return audit::MakeNoteKey(core.keys().ledger_origin(), core.keys().ledger_key.public_key().bytes()); }

absl::StatusOr<std::string> Sign(const Core& core, std::string_view text) {
  return audit::SignNote(text, core.keys().ledger_origin(), core.keys().ledger_key);
}

// The newest pilot's result; nothing when there is none or the file is not ours.
std::optional<evidence::PilotResult> ReadPilot(const Core& core) {
  const auto note = base::ReadFile(PilotFile(core), kMaxNoteFile);
  if (!note.ok()) return std::nullopt;
  const audit::NoteKey key = OwnKey(core);
  const auto opened = audit::OpenNote(*note, {&key, 1});
  if (!opened.ok() || !opened->text.starts_with(kPilotHead)) return std::nullopt;
  const Json json = Json::parse(std::string_view(opened->text).substr(kPilotHead.size()), nullptr, false);
  evidence::PilotResult result;
  if (!json.is_object() || !absl::ParseTime(absl::RFC3339_full, json.value("at", ""), &result.at, nullptr)) return std::nullopt;
  result.version = json.value("version", "");
  result.config_digest = json.value("config_digest", "");
  result.passed = json.value("passed", false);
  result.note = *note;
  return result;
}

absl::Status AddExceptions(Core& core, evidence::Situation* out) {
  ASSIGN_OR_RETURN(const auto views, core.policies().Exceptions());
  for (const ExceptionView& view : views) out->exception_uses[view.exception.id] = view.uses;
  return absl::OkStatus();
}

absl::Status AddSessions(Core& core, evidence::Situation* out) {
  ASSIGN_OR_RETURN(const auto open, core.store().sessions().List({.live_only = true, .limit = kMaxCounted}));
  out->open_sessions = static_cast<int>(open.size());
  for (const store::Session& session : open) {
    ASSIGN_OR_RETURN(const auto tokens, core.store().tokens().ListOfSession(session.id));
    out->live_tokens += static_cast<int>(std::count_if(tokens.begin(), tokens.end(), [&](const store::TokenRow& token) {
      return !token.revoked_at && token.expires_at > out->now;
    }));
  }
  return absl::OkStatus();
}

void AddEdges(Core& core, evidence::Situation* out) {
  for (const EdgeView& edge : core.hub().List()) {
    if (!edge.connected) continue;
    out->edges.push_back(edge.hello.edge);
    out->session_sockets = out->session_sockets || !edge.hello.sockets_folder.empty();
    out->ledgers.push_back({edge.hello.edge, edge.report.ledger_entries});
  }
}

bool IsRefusalOf(std::string_view line, std::string_view session, std::string_view request) {
  const Json record = Json::parse(line, nullptr, false);
  return record.is_object() && record.value("kind", "") == "deny" && record.value("session", "") == session && record.value("request_id", "") == request;
}

// The broker looks for itself whether the refusals that a finding names are in the ledgers.
absl::Status Confirm(Core& core, std::string_view session, Finding* finding) {
  if (finding->request_id.empty()) return absl::OkStatus();
  const auto lines = core.audits().Get(finding->request_id);
  finding->confirmed = lines.ok() && std::any_of(lines->begin(), lines->end(), [&](const std::string& line) {
    return IsRefusalOf(line, session, finding->request_id);
  });
  finding->passed = finding->passed && finding->confirmed;
  return absl::OkStatus();
}

absl::Status CheckFindings(const std::vector<Finding>& findings) {
  if (findings.empty()) return Error(ErrorCode::kBadArgument, "no findings");
  if (findings.size() > kMaxFindings) return Error(ErrorCode::kTooLarge, "more than 64 findings");
  for (const Finding& finding : findings) {
    const std::size_t most = std::max({finding.id.size(), finding.group.size(), finding.name.size(), finding.request_id.size()});
    if (most > 200 || finding.detail.size() > kMaxDetail) return Error(ErrorCode::kTooLarge, "a finding's text");
  }
  return absl::OkStatus();
}

Json FindingJson(const Finding& finding) {
  return {{"id", finding.id},         {"group", finding.group},           {"name", finding.name},          {"passed", finding.passed},
          {"detail", finding.detail}, {"request_id", finding.request_id}, {"confirmed", finding.confirmed}};
}

}  // namespace

absl::StatusOr<evidence::Situation> TakeSituation(Core& core) {
  evidence::Situation out;
  out.version = CREDBROKER_VERSION;
  out.now = core.clock().Now();
  out.installation = core.keys().installation;
  out.rules = core.rules().Get();
  if (out.rules->version() > 0) {
    ASSIGN_OR_RETURN(const PolicyText policy, core.policies().Get(0));
    out.policy_author = policy.version.author;
    out.policy_at = policy.version.applied_at;
  }
  out.listeners = core.notices().listeners();
  out.durability = core.options().durability == audit::Durability::kSync ? "sync" : "flush";
  out.master_key = "file keys/master.key";
  ASSIGN_OR_RETURN(const auto facts, crypto::ReadCertificate(core.keys().ca->certificate_pem()));
  out.ca_fingerprint = facts.fingerprint_hex;
  out.ca_expires = facts.not_after;
  out.ledgers = {{"broker", core.ledger().health().durable_size}};
  AddEdges(core, &out);
  RETURN_IF_ERROR(AddExceptions(core, &out));
  RETURN_IF_ERROR(AddSessions(core, &out));
  ASSIGN_OR_RETURN(out.secrets_missing, core.policies().MissingSecrets(*out.rules));
  out.declared = core.options().declared;
  out.pilot = ReadPilot(core);
  return out;
}

absl::StatusOr<std::string> AnswersDocument(Core& core, std::string_view format, std::string_view group, std::string_view audience) {
  ASSIGN_OR_RETURN(const evidence::Situation situation, TakeSituation(core), "taking the situation");
  ASSIGN_OR_RETURN(evidence::Pack whole, evidence::MakePack(situation));
  ASSIGN_OR_RETURN(const evidence::Pack pack, evidence::Selected(std::move(whole), group, audience));
  if (format == "json" || format.empty()) return evidence::ToJson(pack).dump(2) + "\n";
  if (format == "markdown") return evidence::Markdown(pack);
  if (format == "html") return evidence::Html(pack);
  return Error(ErrorCode::kBadArgument, "formats: json, markdown, html");
}

absl::StatusOr<Bundle> MakeBundle(Core& core, const Cause& cause) {
  ASSIGN_OR_RETURN(const evidence::Situation situation, TakeSituation(core), "taking the situation");
  ASSIGN_OR_RETURN(const evidence::Pack pack, evidence::MakePack(situation));
  std::vector<Part> parts = evidence::AnswerParts(pack);
  model::Record record{.kind = model::RecordKind::kAdmin};
  record.action = "evidence.bundle";
  record.actor = cause.actor;
  record.after = crypto::Sha256Hex(parts.front().content);
  record.policy_version = pack.policy_version;
  const uint64_t index = core.ledger().health().durable_size;
  RETURN_IF_ERROR(core.recorder().Write(std::move(record)), "recording a bundle");
  RETURN_IF_ERROR(core.ledger().Flush());
  parts.push_back({"checkpoint", core.ledger().checkpoint()});
  // Which entry it is depends on who else writes; the newest of ours that the checkpoint covers does for a proof.
  if (auto proof = audit::ProveEntry(core.ledger().folder(), index); proof.ok()) parts.push_back({"record.tlog-proof", *std::move(proof)});
  if (situation.pilot) parts.push_back({"pilot.note", situation.pilot->note});
  const std::string key = audit::NoteKeyText(OwnKey(core));
  parts.push_back({"ledger.vkey", key + "\n"});
  const std::string text = evidence::ManifestText(pack.config_digest, &parts);
  ASSIGN_OR_RETURN(std::string manifest, Sign(core, text), "signing a manifest");
  return Bundle{evidence::PackBundle(std::move(manifest), std::move(parts)), key};
}

absl::StatusOr<PilotOutcome> SubmitPilot(Core& core, const Caller& caller, std::vector<Finding> findings) {
  if (!caller.holder) return caller.holder_status.ok() ? Error(ErrorCode::kNoToken) : caller.holder_status;
  RETURN_IF_ERROR(CheckFindings(findings));
  const token::Claims& holder = *caller.holder;
  for (Finding& finding : findings) RETURN_IF_ERROR(Confirm(core, holder.session, &finding));
  ASSIGN_OR_RETURN(const evidence::Situation situation, TakeSituation(core), "taking the situation");
  PilotOutcome outcome;
  outcome.passed = std::all_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.passed; });
  Json json = {{"at", Second(situation.now)}, {"version", situation.version}, {"config_digest", situation.ConfigDigest()}, {"session", holder.session},
               {"requester", holder.requester}, {"passed", outcome.passed}, {"findings", Json::array()}};
  std::string failed;
  for (const Finding& finding : findings) {
    json["findings"].push_back(FindingJson(finding));
    if (!finding.passed) base::StrAppend(&failed, failed.empty() ? "FAILED: " : ", ", finding.id);
  }
  model::Record record{.kind = model::RecordKind::kAdmin};
  record.action = "pilot.result";
  record.subject = holder.session;
  record.session = holder.session;
  record.token_id = holder.id;
  record.requester = holder.requester;
  record.actor = caller.actor;
  record.detail = outcome.passed ? "passed" : failed;
  record.policy_version = situation.rules->version();
  RETURN_IF_ERROR(core.recorder().Write(std::move(record)), "recording a pilot");
  ASSIGN_OR_RETURN(outcome.note, Sign(core, base::StrCat(kPilotHead, json.dump(-1, ' ', true, Json::error_handler_t::replace), "\n")), "signing a pilot");
  RETURN_IF_ERROR(base::WriteFileAtomic(PilotFile(core), outcome.note, 0600), "keeping a pilot");
  outcome.findings = std::move(findings);
  outcome.key = audit::NoteKeyText(OwnKey(core));
  return outcome;
}

}  // namespace credbroker::control
