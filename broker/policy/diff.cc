#include "policy/diff.h"

#include <algorithm>
#include <map>

#include "base/duration.h"
#include "base/str.h"

namespace credbroker::policy {
namespace {

// What one line means when it appears: kGrants lets somebody do more, kRestricts less, kTells neither.
enum class Weight { kGrants, kRestricts, kTells };

// A policy as a set of lines; two policies with the same lines decide alike. Amounts (limits) are compared by size.
struct Statements {
  std::map<std::string, Weight> lines;
  std::map<std::string, std::pair<int64_t, std::string>>
      amounts;  // subject -> size (0 = no limit is the largest), text
};

std::string_view PresetName(Preset preset) {
  switch (preset) {
    case Preset::kNone:
      return "plain";
    case Preset::kGithub:
      return "github";
    case Preset::kGitea:
      return "gitea";
    case Preset::kGitlab:
      return "gitlab";
    case Preset::kBitbucket:
      return "bitbucket";
  }
  return "plain";
}

class Describer {
 public:
  explicit Describer(const RuleSet& rules) : rules_(rules) {}

  Statements Run() {
    for (const auto& [name, service] : rules_.services()) AddService(service);
    for (const auto& [name, credential] : rules_.credentials()) AddCredential(credential);
    for (const auto& [name, scope] : rules_.scopes()) AddScope(scope);
    for (const auto& [id, exception] : rules_.exceptions()) AddException(exception);
    return std::move(out_);
  }

 private:
  template <typename... Pieces>
  void Add(Weight weight, const Pieces&... pieces) {
    out_.lines.emplace(base::StrCat(pieces...), weight);
  }

  void AddUpstream(const std::string& subject, const model::Upstream& upstream) {
    for (const std::string& cidr : upstream.addresses) Add(Weight::kGrants, subject, ": may resolve to ", cidr);
    if (upstream.extra_ca_pem.empty()) return;
    // Certificates are long; a change must show, not the text.
    Add(Weight::kGrants, subject, ": trusts an own CA (", upstream.extra_ca_pem.size(), " bytes, ",
        std::hash<std::string>()(upstream.extra_ca_pem) % 1'000'000, ")");
  }

  void AddService(const Service& service) {
    const std::string subject = base::StrCat("service ", service.name);
    for (const ServiceHost& host : service.hosts) {
      Add(Weight::kGrants, subject, ": ", PresetName(service.preset), " host ", host.pattern.Text(),
          host.git ? " git" : "", host.api ? base::StrCat(" api ", host.api_prefix, "/") : std::string());
    }
    for (const model::HostPattern& host : service.lfs_hosts) Add(Weight::kGrants, subject, ": LFS objects may lie on ", host.Text());
    if (service.plain_http) Add(Weight::kGrants, subject, ": plain http is allowed");
    AddUpstream(subject, service.upstream);
  }

  void AddCredential(const Credential& credential) {
    const auto place = [](const model::Placement& p) {
      switch (p.kind) {
        case model::Placement::Kind::kBasic:
          return base::StrCat("basic ", p.username);
        case model::Placement::Kind::kHeader:
          return base::StrCat("header ", p.name, " ", p.prefix);
        case model::Placement::Kind::kQuery:
          return base::StrCat("query ", p.name);
        case model::Placement::Kind::kCookie:
          return base::StrCat("cookie ", p.name);
      }
      return std::string();
    };
    Add(Weight::kGrants, "credential ", credential.name, ": secret ", credential.secret, " for service ",
        credential.service->name, ", git ", place(credential.git.placement), ", api ", place(credential.api.placement));
    for (const std::string& name : credential.placeholder_env)
      Add(Weight::kTells, "credential ", credential.name, ": placeholder ", name);
  }

  void AddScope(const Scope& scope) {
    const std::string subject = base::StrCat("scope ", scope.name);
    Add(Weight::kTells, subject, scope.description.empty() ? "" : ": described as ", scope.description);
    for (const std::string& requester : scope.requesters) Add(Weight::kGrants, subject, ": requester ", requester);
    for (const auto label : {model::Label::kAgent, model::Label::kTool, model::Label::kSetup}) {
      if ((scope.labels & Bit(label)) != 0) Add(Weight::kGrants, subject, ": for label ", model::LabelName(label));
    }
    AddPhases(base::StrCat(subject, ":"), scope.phases);
    out_.amounts[subject + ": session limit"] = {absl::ToInt64Milliseconds(scope.limits.session),
                                                 base::DurationText(scope.limits.session)};
    out_.amounts[subject + ": token limit"] = {absl::ToInt64Milliseconds(scope.limits.token),
                                               base::DurationText(scope.limits.token)};
    out_.amounts[subject + ": idle limit"] = {absl::ToInt64Milliseconds(scope.limits.idle),
                                              base::DurationText(scope.limits.idle)};
    AddLimit(subject + ": requests per minute", scope.limits.use.requests_per_minute);
    AddLimit(subject + ": concurrent requests", scope.limits.use.concurrent_requests);
    AddLimit(subject + ": bytes", scope.limits.use.bytes);
    for (const RepositoryRule& rule : scope.repositories) AddRepository(subject, rule);
    for (const EndpointRule& rule : scope.endpoints) AddEndpoint(subject, rule);
    for (const EgressRule& rule : scope.egress) AddEgress(subject, rule);
  }

  // 0 = none, which is more than any.
  void AddLimit(const std::string& what, int64_t limit) {
    out_.amounts[what] = {limit == 0 ? INT64_MAX : limit, limit == 0 ? "no limit" : base::StrCat(limit)};
  }

  void AddPhases(const std::string& what, Mask phases) {
    for (const auto phase : {model::Phase::kSetup, model::Phase::kAgent}) {
      if ((phases & Bit(phase)) != 0) Add(Weight::kGrants, what, " in phase ", model::PhaseName(phase));
    }
  }

  static std::string With(const Credential* credential) {
    return credential == nullptr ? " without credential" : base::StrCat(" with ", credential->name);
  }

  void AddRepository(const std::string& subject, const RepositoryRule& rule) {
    const std::string what = base::StrCat(rule.service->name, " ", rule.name.Text());
    const std::string with = With(rule.credential);
    if (rule.fetch) Add(Weight::kGrants, subject, ": fetch ", what, with);
    for (const DangerousGrant& grant : rule.dangerous) {
      for (const std::string& granted : grant.classes) {
        Add(Weight::kGrants, subject, ": dangerous ", granted, " ", what, with, " until ", base::TimeText(grant.expires), ", owner ", grant.owner, ": ", grant.reason);
      }
    }
    for (const std::string& granted : rule.api) Add(Weight::kGrants, subject, ": api ", granted, " ", what, with);
    if (!rule.push) return;
    for (const RefPattern& ref : rule.push->refs) {
      Add(Weight::kGrants, subject, ": push ", what, " ", ref.text(), with);
      if (rule.push->create) Add(Weight::kGrants, subject, ": create ", what, " ", ref.text(), with);
      if (rule.push->remove) Add(Weight::kGrants, subject, ": delete ", what, " ", ref.text(), with);
      if (rule.push->force) Add(Weight::kGrants, subject, ": force ", what, " ", ref.text(), with);
      for (const ProtectedPath& path : rule.push->deny_paths)
        Add(Weight::kRestricts, subject, ": push ", what, " ", ref.text(), " never changes ", path.text());
      const std::pair<std::string_view, uint64_t> limits[] = {{" bytes at once", rule.push->max_push_bytes},
                                                              {" objects at once", rule.push->max_objects},
                                                              {" bytes a file", rule.push->max_blob_bytes}};
      for (const auto& [of, most] : limits) {
        if (most != 0) Add(Weight::kRestricts, subject, ": push ", what, " ", ref.text(), " at most ", most, of);
      }
    }
    for (const RefPattern& ref : rule.push->deny_refs)
      Add(Weight::kRestricts, subject, ": never push ", what, " ", ref.text());
  }

  void AddEndpoint(const std::string& subject, const EndpointRule& rule) {
    const auto add = [&](const std::vector<EndpointRow>& rows, Weight weight, std::string_view verb) {
      for (const EndpointRow& row : rows) {
        for (const std::string& method : row.methods)
          AddPhased(weight,
                    base::StrCat(subject, ": ", verb, method, " ", rule.service->name, row.path.text(),
                                 weight == Weight::kGrants ? With(rule.credential) : ""),
                    rule.phases);
      }
    };
    add(rule.allow, Weight::kGrants, "");
    add(rule.deny, Weight::kRestricts, "never ");
  }

  void AddPhased(Weight weight, const std::string& text, Mask phases) {
    for (const auto phase : {model::Phase::kSetup, model::Phase::kAgent}) {
      if ((phases & Bit(phase)) != 0) Add(weight, text, " in phase ", model::PhaseName(phase));
    }
  }

  void AddEgress(const std::string& subject, const EgressRule& rule) {
    for (const model::HostPattern& host : rule.hosts) {
      const std::string base_text = base::StrCat(subject, ": egress ", host.Text());
      for (const std::string& method : rule.methods) {
        if (rule.paths.empty()) AddPhased(Weight::kGrants, base::StrCat(base_text, " ", method), rule.phases);
        for (const PathPattern& path : rule.paths)
          AddPhased(Weight::kGrants, base::StrCat(base_text, " ", method, " ", path.text()), rule.phases);
      }
      if (rule.plain_http) Add(Weight::kGrants, base_text, " by plain http");
      AddUpstream(base_text, rule.upstream);
    }
  }

  void AddException(const Exception& exception) {
    const std::string subject = base::StrCat("exception ", exception.id);
    if (exception.enabled) {
      out_.amounts[subject + ": expires"] = {absl::ToUnixMillis(exception.expires), base::TimeText(exception.expires)};
      for (const model::HostPattern& host : exception.hosts) {
        if (exception.scopes.empty()) Add(Weight::kGrants, subject, ": tunnel to ", host.Text(), " for every scope");
        for (const std::string& scope : exception.scopes)
          Add(Weight::kGrants, subject, ": tunnel to ", host.Text(), " for scope ", scope);
      }
      AddUpstream(subject, exception.upstream);
    } else {
      Add(Weight::kTells, subject, ": off");
    }
    Add(Weight::kTells, subject, ": owner ", exception.owner, ", approved by ", exception.approved_by, ": ",
        exception.reason);
  }

  const RuleSet& rules_;
  Statements out_;
};

}  // namespace

Diff DiffRules(const RuleSet& before, const RuleSet& after) {
  const Statements old_set = Describer(before).Run();
  const Statements new_set = Describer(after).Run();
  std::vector<std::pair<std::string, std::string>> changes;  // subject and text, sign: sorted by the first
  Diff out;
  for (const auto& [line, weight] : old_set.lines) {
    if (new_set.lines.contains(line)) continue;
    changes.emplace_back(line, "- ");
    out.widens = out.widens || weight == Weight::kRestricts;
  }
  for (const auto& [line, weight] : new_set.lines) {
    if (old_set.lines.contains(line)) continue;
    changes.emplace_back(line, "+ ");
    out.widens = out.widens || weight == Weight::kGrants;
  }
  for (const auto& [subject, amount] : new_set.amounts) {
    const auto found = old_set.amounts.find(subject);
    // A subject that is new as a whole is told, and weighed, by its lines.
    if (found == old_set.amounts.end() || found->second.first == amount.first) continue;
    changes.emplace_back(base::StrCat(subject, " ", found->second.second), "- ");
    changes.emplace_back(base::StrCat(subject, " ", amount.second), "+ ");
    out.widens = out.widens || amount.first > found->second.first;
  }
  const auto subject_of = [](const std::string& line) { return line.substr(0, line.find(": ")); };
  std::stable_sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) {
    const std::string left = subject_of(a.first), right = subject_of(b.first);
    return left != right ? left < right : a.second[0] == '-' && b.second[0] == '+';
  });
  for (const auto& [line, sign] : changes) out.lines.push_back(sign + line);
  return out;
}

}  // namespace credbroker::policy
