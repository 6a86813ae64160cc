#include "evidence/values.h"

#include <algorithm>
#include <vector>

#include "base/duration.h"
#include "base/str.h"
#include "evidence/hosts.h"

namespace credbroker::evidence {
namespace {

using base::StrAppend;
using base::StrCat;

std::string Day(absl::Time time) { return std::string(base::View(absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone()))); }

void Line(std::string_view text, std::string* out) { StrAppend(out, out->empty() ? "" : "\n", text); }

std::string Listed(const std::vector<std::string>& parts, std::string_view none) {
  std::string out;
  for (const std::string& part : parts) StrAppend(&out, out.empty() ? "" : ", ", part);
  return out.empty() ? std::string(none) : out;
}

// Exceptions that let something pass unread now, by id.
std::vector<std::string> Active(const Situation& s) {
  std::vector<std::string> ids;
  for (const auto& [id, exception] : s.rules->exceptions()) {
    if (exception.ActiveAt(s.now)) ids.push_back(id);
  }
  return ids;
}

std::string PilotState(const Situation& s) {
  if (!s.pilot) return "no pilot has been run";
  const std::string when = StrCat(s.pilot->passed ? "passed" : "FAILED", " on ", Day(s.pilot->at));
  const bool same = s.pilot->version == s.version && s.pilot->config_digest == s.ConfigDigest();
  return same ? when : StrCat("stale: ", when, ", under another version or configuration");
}

}  // namespace

std::string DeclaredText(const Situation& s, std::string_view field) {
  const std::string* const value = s.declared.Find(field);
  if (value == nullptr) return std::string(kUnknown);
  return StrCat(*value, " (declared by ", s.declared.by, " on ", s.declared.on, ", not verified by this product)");
}

namespace values {

std::string Groups(const Situation&) { return "Six: isolation, network, secrets, git, data, evidence. Each question stands in one of them."; }

std::string WrittenAnswers(const Situation& s) {
  return StrCat("Each answer is made from the running configuration (digest ", s.ConfigDigest().substr(0, 16), ") and names its documentation and its test.");
}

std::string Isolation(const Situation& s) {
  return StrCat("kind: ", DeclaredText(s, "isolation.kind"), "\nthe host is patched by: ", DeclaredText(s, "isolation.patch_owner"));
}

std::string EffectiveConfig(const Situation& s) {
  std::string out;
  Line(StrCat("configuration digest: ", s.ConfigDigest()), &out);
  Line(StrCat("policy: version ", s.rules->version(), s.policy_author.empty() ? "" : StrCat(" by ", s.policy_author)), &out);
  Line(StrCat("listeners: ", Listed(s.listeners, "none")), &out);
  Line(StrCat("edges connected: ", Listed(s.edges, "none")), &out);
  Line(StrCat("interception CA: SHA-256 ", s.ca_fingerprint, ", until ", Day(s.ca_expires)), &out);
  Line(StrCat("keys and secrets: sealed at rest; master key from ", s.master_key), &out);
  Line(StrCat("records: durability ", s.durability), &out);
  Line(StrCat("operator's notes: ", DeclaredText(s, "isolation.notes")), &out);
  return out;
}

std::string FreshEnvironment(const Situation& s) {
  return StrCat("Tokens belong to one session and end with it; the product keeps policies, sessions, sealed secrets and records on disk, no content of "
                "requests.\nfresh environment per task: ", DeclaredText(s, "environment.fresh_per_task"), "\nwipe: ", DeclaredText(s, "environment.wipe"));
}

std::string Lifetimes(const Situation& s) {
  std::string out = "A token lives 60 minutes at most, a session 24 hours at most; no caller can raise a limit and no renewal passes its session's end. An idle session is closed and everything of it revoked.";
  for (const auto& [name, scope] : s.rules->scopes()) {
    Line(StrCat("scope ", name, ": session ", base::DurationText(scope.limits.session), ", token ", base::DurationText(scope.limits.token), ", idle ",
                base::DurationText(scope.limits.idle)), &out);
  }
  return out;
}

std::string DefaultEgress(const Situation& s) {
  return StrCat("Denied, before any name is looked up. ", ReachableHosts(*s.rules, s.now).size(), " entries of the policy in force open hosts; see S8 for all of them.");
}

std::string HostList(const Situation& s) {
  std::string out = "No host is built in. The policy in force opens these and no others:";
  for (const ReachableHost& host : ReachableHosts(*s.rules, s.now)) {
    Line(StrCat(host.host, " (", host.why, host.rules.empty() ? "" : StrCat("; ", host.rules), host.inspected ? "" : "; NOT inspected", ")"), &out);
  }
  Line(StrCat("own listeners, never reached through the edge: ", Listed(s.listeners, "none")), &out);
  Line(StrCat("ways that do not pass the edge: ", DeclaredText(s, "egress.other_paths")), &out);
  return out;
}

std::string Coverage(const Situation& s) {
  return StrCat("Only traffic that reaches the edge is covered. `credbroker pilot` inside the sandbox tries to go around it: ", PilotState(s),
                ".\nevery other way out is closed by: ", DeclaredText(s, "egress.enforcement"));
}

std::string Labels(const Situation& s) {
  int narrowed = 0;
  for (const auto& [name, scope] : s.rules->scopes()) narrowed += scope.labels != policy::kAny ? 1 : 0;
  return StrCat("Tokens carry a label (agent, tool, setup), each record shows it, and a scope may refuse one; ", narrowed, " of ", s.rules->scopes().size(),
                " scopes do.");
}

std::string Widening(const Situation& s) {
  return StrCat("Every change of policy, exception or secret is in the record with who, when and both digests before it acts; no setting turns the record off. In force: version ",
                s.rules->version(), s.policy_at == absl::InfinitePast() ? "" : StrCat(", since ", Day(s.policy_at)), s.policy_author.empty() ? "" : StrCat(", by ", s.policy_author), ".");
}

std::string RealCredentials(const Situation& s) {
  std::string out = "No. The edge puts a credential into the outbound request alone and takes its value out of the answer; variables in the sandbox hold tokens or placeholders.";
  const std::vector<std::string> active = Active(s);
  if (!active.empty()) Line(StrCat("Not inspected, under a named exception: ", Listed(active, "")), &out);
  if (!s.secrets_missing.empty()) Line(StrCat("named by the policy and not put yet: ", Listed(s.secrets_missing, "")), &out);
  return out;
}

std::string Exceptions(const Situation& s) {
  std::string out;
  for (const auto& [id, exception] : s.rules->exceptions()) {
    const auto uses = s.exception_uses.find(id);
    std::string hosts;
    for (const model::HostPattern& host : exception.hosts) StrAppend(&hosts, hosts.empty() ? "" : ", ", host.Text());
    Line(StrCat(id, " ", exception.kind, " to ", hosts, ": ", exception.reason, "; owner ", exception.owner, ", approved by ", exception.approved_by, ", until ",
                Day(exception.expires), exception.ActiveAt(s.now) ? "" : exception.enabled ? ", EXPIRED and blocked" : ", OFF and blocked", ", used ",
                uses == s.exception_uses.end() ? 0 : uses->second, " times"), &out);
  }
  return out.empty() ? "None is configured." : out;
}

std::string Variables(const Situation& s) {
  return StrCat("Every process of the sandbox can read them. They hold the proxy's address, the CA file and a session token that opens nothing but this edge, for minutes",
                s.session_sockets ? "; with the session's own socket not even a token" : "", ".");
}

std::string Retention(const Situation& s) {
  return StrCat("No bodies, header values or query values are kept; a push that a rule must read lies in a file without a name until it is judged.\nrecords: ", s.retention,
                "\nas the operator sees it: ", DeclaredText(s, "retention.audit"));
}

std::string Transcripts(const Situation& s) {
  return StrCat("not applicable: no transcript or bundle of a session passes this product.\ntranscripts: ", DeclaredText(s, "transcripts.retention"),
                "\nlocal uploads: ", DeclaredText(s, "local_upload.policy"));
}

std::string Viewers(const Situation&) {
  return "Admins, reviewers and operators of the broker, by role; a requester sees the sessions that it opened, a sandbox its own token's rights and no records.";
}

std::string RecordContent(const Situation&) {
  return "Records hold no bodies, no header or query values, and tokens by id only. Path and ref are kept, cut and escaped, since reviewers need them.";
}

std::string EvidenceOffered(const Situation& s) {
  std::string out = StrCat("`credbroker evidence bundle`: these answers, the architecture note, version ", s.version, ", the configuration's digest, the pilot's result, the ledger's checkpoint and a proof, in one signed file that verifies offline.");
  for (const Situation::Ledger& ledger : s.ledgers) Line(StrCat("ledger ", ledger.name, ": ", ledger.entries, " entries"), &out);
  return out;
}

std::string Attestations(const Situation& s) {
  std::string out = "The product itself claims none.";
  if (s.declared.attestations.empty()) return StrCat(out, " none held");
  for (const Attestation& one : s.declared.attestations) {
    Line(StrCat(one.title, ": ", one.scope, ", ", one.period, ", to be read at ", one.where, " (declared by ", s.declared.by, " on ", s.declared.on, ", not verified by this product)"), &out);
  }
  return out;
}

std::string Scoring(const Situation&) {
  return "Row 1, specific and documented: an answer that is empty, vague, without documentation or without its test is refused before anybody sees it.";
}

std::string LoggingOff(const Situation& s) {
  return StrCat("No. The record of intent comes before each effect (durability ", s.durability, "); while it cannot be written every request gets 503, and revocation goes on.");
}

std::string Pilot(const Situation& s) { return StrCat("`credbroker pilot`: ", PilotState(s), ". A result names version and configuration and is stale when either changes."); }

std::string Review(const Situation& s) {
  return StrCat("last reviewed by: ", DeclaredText(s, "reviewed_by"), "\non: ", DeclaredText(s, "reviewed_at"), "\n`credbroker evidence diff` tells what changed since.");
}

std::string EgressRow(const Situation& s) {
  const std::size_t count = ReachableHosts(*s.rules, s.now).size();
  return count == 0 ? "Nothing: no host is allowed." : StrCat("A documented list of ", count, " hosts, everything else denied (S8).");
}

std::string SecretsRow(const Situation& s) {
  const std::vector<std::string> active = Active(s);
  if (active.empty()) return "credential proxy, exceptions listed";
  return StrCat("credential proxy, but bytes pass unread under: ", Listed(active, ""));
}

std::string PilotBlockedHost(const Situation& s) { return StrCat("Refused with 403, a reason and the record's id. Here: ", PilotState(s), "."); }
std::string PilotPush(const Situation& s) {
  return StrCat("Refused at the edge with the ref and the rule in git's own words; what the host itself would do is reported apart and not known here.\nHere: ", PilotState(s), ".");
}
std::string PilotVariables(const Situation& s) { return StrCat("Each variable is looked at; one that looks like a real credential fails the test. Here: ", PilotState(s), "."); }
std::string PilotWhoami(const Situation& s) { return StrCat("`credbroker token whoami` lists repositories, refs, methods, phase and expiry: exactly what is enforced. Here: ", PilotState(s), "."); }
std::string PilotRecord(const Situation& s) { return StrCat("Every request once, in order, with its outcome. Here: ", PilotState(s), "."); }

std::string StaticExport(const Situation&) { return "Yes: JSON, Markdown or one HTML page with version and digest; the same input gives the same bytes."; }

std::string MaterialChanges(const Situation&) {
  return "Isolation, retention and network defaults are marked: `credbroker evidence diff A B` tells their changes first, and the changelog has a group for defaults.";
}

std::string Incident(const Situation& s) {
  return StrCat("Revocation by token, session, scope, repository, credential or everything, on open connections too; the record shows what was issued and used.\ncontact: ",
                DeclaredText(s, "incident.contact"));
}

std::string Subprocessors(const Situation& s) {
  std::string out = "The product talks to the configured hosts only and sends nothing home.\nsubprocessors: ";
  if (s.declared.subprocessors.empty()) return StrCat(out, kUnknown);
  return StrCat(out, Listed(s.declared.subprocessors, ""), " (declared by ", s.declared.by, " on ", s.declared.on, ", not verified by this product)");
}

std::string Audiences(const Situation&) { return "Each answer is marked: security, platform, legal or engineering; `--audience` selects."; }
std::string Mapping(const Situation&) { return "Yes: the answers name controls of OWASP LLM01 and LLM06 and their tests, and export as JSON."; }
std::string NotEnough(const Situation& s) { return StrCat("No. Test egress, secrets and git here: the pilot's three groups have these names. ", PilotState(s), "."); }
std::string Unknowns(const Situation&) { return "Unknown risk: \"unknown (not declared)\" is an answer of its own and never counted as no."; }
std::string Exposed(const Situation&) { return "Whatever is inside is taken as read by the agent: the session token is assumed stolen at once, and works at this edge only, within the session's scopes, for minutes."; }
std::string Steps(const Situation&) { return "opened, setup, agent, closed. Phases move forward only, and only from outside the sandbox; leaving setup kills its tokens."; }

std::string NetworkDesigns(const Situation& s) {
  int setup = 0;
  for (const auto& [name, scope] : s.rules->scopes()) {
    for (const policy::EgressRule& rule : scope.egress) setup += rule.phases == policy::Bit(model::Phase::kSetup) ? 1 : 0;
  }
  return StrCat("A limited network, a list of domains, or none in the agent's phase: egress entries name their phases. In force: ", setup, " entries for setup alone.");
}

std::string InnerAddresses(const Situation& s) {
  std::string out = "Private, loopback, link-local and metadata addresses are refused after resolution, all answers of a name together, unless a service names the network.";
  for (const auto& [name, service] : s.rules->services()) {
    if (!service.upstream.addresses.empty()) Line(StrCat("service ", name, " names: ", Listed(service.upstream.addresses, "")), &out);
  }
  return out;
}

std::string LiveCredentials(const Situation& s) {
  return StrCat("Real ones: none. Session tokens: ", s.live_tokens, " live in ", s.open_sessions, " open sessions, each for 60 minutes at most.");
}

std::string OwnerOfIsolation(const Situation& s) { return DeclaredText(s, "owner_of_isolation"); }

std::string SetupNetwork(const Situation& s) { return StrCat("Yes, by phase, and it is gone in the agent's. ", NetworkDesigns(s)); }

std::string Closing(const Situation&) { return "Closing the session revokes every token of it at once, on open connections too, and lists them."; }

std::string StepControls(const Situation&) { return "broker/EVIDENCE.md has the table: step, control, test."; }

std::string FourProperties(const Situation& s) {
  return StrCat("disposable: ", DeclaredText(s, "environment.fresh_per_task"), "\nconstrained network with named exceptions: ", EgressRow(s), "\nminimal credentials: ", SecretsRow(s),
                "\nreviewed output: pushes go to the refs of S16 only; that a person reviews is the host's rule: ", DeclaredText(s, "host.branch_protection_owner"));
}

std::string WithoutToken(const Situation& s) {
  return s.session_sockets ? "Yes, and it is on: each session has a Unix socket of its own; variables hold placeholders."
                           : "Yes, and it is off here: `edge: {session_sockets: true}` gives each session a Unix socket of its own.";
}

std::string Costs(const Situation&) { return "One policy file; `policy explain` says why a request is denied, `policy diff` what a change widens, `audit list` what was used."; }

std::string Excess(const Situation&) {
  return "Functionality: hosts, methods and paths by list. Permissions: the credential is bound to one service and place. Autonomy: no merge or approval without a named entry. Every request of an open connection is judged anew; scopes limit requests per minute, requests at once and bytes.";
}

std::string Injection(const Situation&) { return "No, and nothing fully does. It limits what a hijacked agent can reach: S8, S15 and S71 say how far."; }
std::string EffectClasses(const Situation&) { return "Each record carries its effect class; an operation that the catalogue does not know is denied."; }
std::string Limits(const Situation&) { return "It limits reach; it does not stop prompt injection; it does not replace review; it sees only traffic that reaches the edge."; }

}  // namespace values
}  // namespace credbroker::evidence
