#include "client/pilot.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/str.h"
#include "client/environment.h"
#include "client/probe.h"
#include "credbroker/credbroker.h"
#include "credbroker/v1/audit.pb.h"
#include "credbroker/v1/token.pb.h"
#include "token/claims.h"
#include "token/placeholder.h"

namespace credbroker::client {
namespace {

using base::StrCat;

// By address, so that a test of the way around needs no working resolver.
constexpr std::array<const char*, 3> kOutside = {"1.1.1.1:443", "8.8.8.8:53", "[2606:4700:4700::1111]:443"};

// How keys of well-known providers begin.
constexpr std::array<std::string_view, 18> kKeyBeginnings = {
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "sk_live_", "rk_live_", "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza", "npm_", "pypi-", "hf_"};

std::string AuthorityOf(std::string_view url) {
  constexpr std::string_view kHttp = "http://";
  if (url.starts_with(kHttp)) url.remove_prefix(kHttp.size());
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) url.remove_prefix(at + 1);
  return std::string(url.substr(0, url.find('/')));
}

// `r-...` in a refusal, in JSON or in git's words.
std::string RequestIdIn(std::string_view text) {
  const auto part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  for (std::size_t at = text.find("r-"); at != std::string_view::npos; at = text.find("r-", at + 1)) {
    if (at > 0 && part(text[at - 1])) continue;
    std::size_t end = at;
    while (end < text.size() && part(text[end])) ++end;
    if (end - at >= 8) return std::string(text.substr(at, end - at));
  }
  return {};
}

class Pilot {
 public:
  Pilot(Context& context, const std::string& token, const PilotOptions& options) : context_(context), token_(token), options_(options) {}

  std::vector<PilotFinding> Run() {
    proxy_ = AuthorityOf(Variable(context_.host().environment, kProxyVariable));
    gateway_ = AuthorityOf(Variable(context_.host().environment, kGatewayVariable));
    known_ = context_.broker().WhoAmI({}, &who_, token_);
    return {BlockedHost(), Around(), Variables(), Permissions(), ProtectedBranch(), Record(), Readers()};
  }

 private:
  PilotFinding BlockedHost() {
    PilotFinding out{"S38", "egress", "a request to a blocked host"};
    const std::string request = StrCat("CONNECT ", options_.blocked_host, " HTTP/1.1\r\nHost: ", options_.blocked_host, "\r\nProxy-Authorization: Bearer ", token_, "\r\n\r\n");
    const auto answer = AskHttp(proxy_, request);
    if (!answer.ok()) return Failed(out, StrCat("the edge at \"", proxy_, "\" does not answer: ", base::View(answer.status().message())));
    refusal_ = RequestIdIn(answer->body);
    out.request_id = refusal_;
    if (answer->status != 403 || refusal_.empty()) return Failed(out, StrCat("wanted a refusal with a reason and a record, got ", answer->status));
    return Passed(out, StrCat(options_.blocked_host, " was refused with 403 and a reason"));
  }

  PilotFinding Around() {
    PilotFinding out{"S9", "egress", "a way around the edge"};
    std::vector<std::string> targets = options_.targets;
    if (targets.empty()) targets.assign(kOutside.begin(), kOutside.end());
    for (const std::string& target : targets) {
      if (ReachesTcp(target)) return Failed(out, StrCat("direct egress open: a TCP connection to ", target, " came about"));
      if (target.ends_with(":53") && ReachesDns(target)) return Failed(out, StrCat("direct egress open: ", target, " answers DNS"));
    }
    return Passed(out, StrCat("blocked: none of ", targets.size(), " targets could be reached"));
  }

  PilotFinding Variables() {
    PilotFinding out{"S40", "secrets", "a credential in a variable"};
    std::string found;
    for (const auto& [name, value] : context_.host().environment) {
      if (LooksLikeCredential(value) || (IsCredentialVariable(name) && !IsOurs(value))) base::StrAppend(&found, found.empty() ? "" : ", ", name);
    }
    if (!found.empty()) return Failed(out, StrCat("looks like a real credential: ", found));
    return Passed(out, StrCat(context_.host().environment.size(), " variables are readable, and none looks like a real credential"));
  }

  PilotFinding Permissions() {
    PilotFinding out{"S41", "git", "tools and permissions"};
    if (!known_.ok()) return Failed(out, StrCat("the token is not known: ", base::View(known_.message())));
    std::string said = StrCat("phase ", who_.token().phase(), ", until ", who_.token().expires_at().seconds(), " s; ", who_.repositories_size(), " repositories, ",
                              who_.endpoints_size(), " endpoints, ", who_.exceptions_size(), " exceptions");
    for (const auto& repository : who_.repositories()) {
      base::StrAppend(&said, "; ", repository.name(), repository.fetch() ? " fetch" : "", repository.push_refs_size() > 0 ? " push " : "");
      for (const std::string& ref : repository.push_refs()) base::StrAppend(&said, " ", ref);
    }
    return Passed(out, said.substr(0, 1500));
  }

  // An object that does not exist, onto a branch that does: harmless wherever it arrives.
  PilotFinding ProtectedBranch() {
    PilotFinding out{"S39", "git", "a direct push to a protected branch"};
    if (!known_.ok()) return Failed(out, "the token is not known");
    if (who_.repositories_size() == 0) return Passed(out, "not applicable: this token names no repository, so there is nothing to push to");
    const auto& repository = who_.repositories(0);
    const std::string command = StrCat(std::string(40, '0'), " ", std::string(40, '1'), " ", options_.protected_ref, std::string(1, '\0'), " report-status side-band-64k");
    char length[5];
    std::snprintf(length, sizeof length, "%04zx", command.size() + 4);
    // pkt-line, flush, and a pack of no objects with its checksum
    const std::string pack("PACK\0\0\0\2\0\0\0\0\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e", 32);
    const std::string body = StrCat(length, command, "0000", pack);
    const std::string request =
        StrCat("POST /", repository.host(), "/", repository.name(), ".git/git-receive-pack HTTP/1.1\r\nHost: ", gateway_, "\r\nAuthorization: Bearer ", token_,
               "\r\nContent-Type: application/x-git-receive-pack-request\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body);
    const auto answer = AskHttp(gateway_, request);
    if (!answer.ok()) return Failed(out, StrCat("the gateway at \"", gateway_, "\" does not answer"));
    out.request_id = RequestIdIn(answer->body);
    const bool refused = !out.request_id.empty() && (answer->status == 200 || answer->status == 403);
    if (!refused) return Failed(out, StrCat("the edge let it through, or said nothing: status ", answer->status));
    return Passed(out, StrCat("refused at the edge: ", options_.protected_ref, " of ", repository.name(), "; what the host itself would do is not known"));
  }

  PilotFinding Record() {
    PilotFinding out{"S42", "secrets", "what the record shows"};
    out.request_id = refusal_;
    if (refusal_.empty()) return Failed(out, "there is no refusal to look for");
    return Passed(out, "the refusal above, looked up in the ledger by the broker");
  }

  PilotFinding Readers() {
    PilotFinding out{"S43", "secrets", "who can open the record"};
    v1::ListRecordsReply reply;
    v1::ListRecordsRequest request;
    request.set_limit(1);
    const absl::Status asked = context_.broker().ListRecords(request, &reply);
    if (asked.ok()) return Failed(out, "this sandbox may read every record: it reaches the broker as its owner or with an admin's access");
    if (base::CodeOf(asked) != base::ErrorCode::kCallerNotAllowed) return Failed(out, StrCat("no clear answer: ", base::View(asked.message())));
    return Passed(out, "records are refused to this sandbox; reviewers and admins can open them");
  }

  static PilotFinding Passed(PilotFinding finding, std::string detail) {
    finding.passed = true;
    finding.detail = std::move(detail);
    return finding;
  }
  static PilotFinding Failed(PilotFinding finding, std::string detail) {
    finding.detail = std::move(detail);
    return finding;
  }
  bool IsOurs(std::string_view value) const { return value.empty() || value == token_ || value.starts_with(token::kTokenPrefix) || token::IsPlaceholder(value); }

  Context& context_;
  const std::string& token_;
  const PilotOptions& options_;
  std::string proxy_, gateway_, refusal_;
  absl::Status known_;
  v1::WhoAmIReply who_;
};

}  // namespace

bool LooksLikeCredential(std::string_view value) {
  if (value.starts_with(token::kTokenPrefix) || token::IsPlaceholder(value)) return false;
  if (value.find("PRIVATE KEY-----") != std::string_view::npos) return true;
  constexpr std::size_t kShortestKey = 16;
  if (value.size() < kShortestKey || value.find(' ') != std::string_view::npos) return false;
  if (value.starts_with("eyJ") && std::count(value.begin(), value.end(), '.') == 2) return true;
  return std::any_of(kKeyBeginnings.begin(), kKeyBeginnings.end(), [&](std::string_view beginning) { return value.starts_with(beginning); });
}

std::vector<PilotFinding> RunPilot(Context& context, const std::string& token, const PilotOptions& options) { return Pilot(context, token, options).Run(); }

}  // namespace credbroker::client
