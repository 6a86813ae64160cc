#include <algorithm>

#include "base/duration.h"
#include "base/str.h"
#include "base/text.h"
#include "policy/catalogue.h"
#include "policy/loader.h"

namespace credbroker::policy {

void Loader::LoadScope(const YamlNode& name, const YamlNode& node) {
  MapReader map(node, base::StrCat("scope ", QuotedText(name.text)),
                {"description", "requesters", "phases", "labels", "limits", "repositories", "endpoints", "egress"},
                &problems_);
  Scope scope;
  scope.name = name.text;
  scope.description = map.Text("description").value_or("");
  for (const YamlNode* item : map.Texts("requesters", MapReader::Empty::kFine)) scope.requesters.push_back(item->text);
  if (scope.requesters.empty())
    problems_.Warn(name,
                   base::StrCat("scope `", name.text, "` names no requesters: nobody can open a session under it"));
  scope.phases = Phases(map);
  scope.labels = Labels(map);
  LoadLimits(map, &scope.limits);
  for (const YamlNode* item : map.List("repositories")) LoadRepository(*item, &scope);
  for (const RepositoryRule& rule : scope.repositories) WarnOfUnprotected(scope, rule, *map.Find("repositories"));
  for (const YamlNode* item : map.List("endpoints")) LoadEndpoint(*item, &scope);
  for (const YamlNode* item : map.List("egress")) LoadEgress(*item, &scope);
  parts_.scopes.emplace(name.text, std::move(scope));
}

// What one rule lets pass onto a branch is the host's history for the next push.
void Loader::WarnOfUnprotected(const Scope& scope, const RepositoryRule& rule, const YamlNode& at) {
  if (!rule.push || rule.push->deny_paths.empty()) return;
  for (const RepositoryRule& other : scope.repositories) {
    if (!other.push || !other.push->deny_paths.empty() || other.service != rule.service || other.name.Text() != rule.name.Text()) continue;
    problems_.Warn(at, base::StrCat("scope `", scope.name, "` protects paths of ", rule.name.Text(), " on some refs only: what is pushed to the others can be merged from there"));
    return;
  }
}

void Loader::LoadLimits(const MapReader& map, Limits* limits) {
  const YamlNode* node = map.Find("limits");
  if (node == nullptr) return;
  MapReader inner(*node, "`limits`", {"session", "token", "idle", "requests_per_minute", "concurrent_requests", "bytes"}, &problems_);
  limits->session = inner.Duration("session", limits->session, absl::Hours(24));
  limits->token = inner.Duration("token", limits->token, absl::Minutes(60));
  if (inner.Find("token") != nullptr) limits->token_ceiling = limits->token;
  limits->idle = inner.Duration("idle", std::min(limits->idle, limits->session), absl::Hours(24));
  if (limits->idle > limits->session)
    problems_.Add(*inner.Find("idle"), "`idle` is longer than `session`", "make it shorter");
  limits->use.requests_per_minute = static_cast<int>(inner.Number("requests_per_minute", 0, 1, 1'000'000));
  limits->use.concurrent_requests = static_cast<int>(inner.Number("concurrent_requests", 0, 1, 30'000));
  limits->use.bytes = inner.Number("bytes", 0, 1, int64_t{1} << 50);
}

void Loader::LoadRepository(const YamlNode& node, Scope* scope) {
  MapReader map(node, "an entry of `repositories`", {"service", "name", "id", "credential", "git", "api", "dangerous"}, &problems_);
  RepositoryRule rule;
  rule.service = UsedService(map);
  rule.credential = UsedCredential(map, rule.service);
  const std::string name = map.NeedText("name");
  if (rule.service == nullptr || name.empty()) return;
  // Forges have `owner/name`; groups nest at GitLab, and a plain git server serves any path.
  const Preset preset = rule.service->preset;
  const int min = preset == Preset::kNone ? 1 : 2;
  const int max = preset == Preset::kNone || preset == Preset::kGitlab ? 20 : 2;
  const auto pattern = RepositoryPattern::Parse(name, min, max);
  if (!pattern.ok()) {
    problems_.Add(*map.Find("name"), base::StrCat("the repository ", QuotedText(name), " cannot be read"),
                  DetailOf(pattern.status()));
    return;
  }
  rule.name = *pattern;
  rule.rule = base::StrCat(scope->name, "/repositories/", name);
  LoadGit(map, &rule);
  LoadClasses(map, &rule);
  LoadDangerous(map, &rule);
  rule.id = map.Text("id").value_or("");
  int64_t number = 0;
  if (!rule.id.empty() && (!base::ParseInt(rule.id, &number) || number <= 0 || base::StrCat(number) != rule.id))
    problems_.Add(*map.Find("id"), base::StrCat(QuotedText(rule.id), " is not a repository's number"), "write the host's numeric id");
  scope->repositories.push_back(std::move(rule));
}

void Loader::LoadGit(const MapReader& map, RepositoryRule* rule) {
  const YamlNode* node = map.Find("git");
  if (node == nullptr) return;
  MapReader git(*node, "`git`", {"fetch", "push"}, &problems_);
  rule->fetch = git.Allow("fetch", false);
  const YamlNode* push = git.Find("push");
  if (push == nullptr) return;
  if (push->kind == YamlNode::Kind::kScalar && push->text == "deny") return;
  if (push->kind == YamlNode::Kind::kScalar) {
    problems_.Add(*push, base::StrCat("`push` is ", QuotedText(push->text)), "write {refs: [...]}, or deny");
    return;
  }
  LoadPush(*push, &rule->push.emplace());
}

void Loader::LoadPush(const YamlNode& node, PushRule* push) {
  MapReader map(node, "`push`", {"refs", "deny_refs", "create", "delete", "force", "deny_paths", "max_push_bytes", "max_objects", "max_blob_bytes"}, &problems_);
  (void)map.Need("refs");
  push->refs = Refs(map, "refs");
  push->deny_refs = Refs(map, "deny_refs");
  push->create = map.Allow("create", false);
  push->remove = map.Allow("delete", false);
  push->force = map.Allow("force", false);
  for (const YamlNode* item : map.Texts("deny_paths", MapReader::Empty::kFine)) {
    auto path = ProtectedPath::Parse(item->text);
    if (path.ok()) {
      push->deny_paths.push_back(*std::move(path));
      continue;
    }
    problems_.Add(*item, base::StrCat("the protected path ", QuotedText(item->text), " is not allowed"), DetailOf(path.status()));
  }
  // Above the edge's own limits a number would promise what it does not keep.
  push->max_push_bytes = static_cast<uint64_t>(map.Number("max_push_bytes", 0, 1, 1 << 30));
  push->max_objects = static_cast<uint64_t>(map.Number("max_objects", 0, 1, 500'000));
  push->max_blob_bytes = static_cast<uint64_t>(map.Number("max_blob_bytes", 0, 1, 1 << 30));
}

std::vector<RefPattern> Loader::Refs(const MapReader& map, std::string_view key) {
  std::vector<RefPattern> out;
  for (const YamlNode* item : map.Texts(key)) {
    auto pattern = RefPattern::Parse(item->text);
    if (pattern.ok()) {
      out.push_back(*std::move(pattern));
      continue;
    }
    problems_.Add(*item, base::StrCat("the ref pattern ", QuotedText(item->text), " is not allowed"),
                  DetailOf(pattern.status()));
  }
  return out;
}

void Loader::LoadClasses(const MapReader& map, RepositoryRule* rule) {
  for (const YamlNode* item : map.Texts("api", MapReader::Empty::kFine)) {
    if (!IsKnownClass(item->text)) {
      std::vector<std::string_view> known = {"read", "read-host", "write"};
      for (const CatalogueRow& row : Catalogue()) {
        if (std::find(known.begin(), known.end(), row.effect_class) == known.end()) known.push_back(row.effect_class);
      }
      problems_.Add(*item, base::StrCat("the class ", QuotedText(item->text), " is not known"),
                    NearestHint(item->text, known));
    } else if (!IsOrdinary(item->text)) {
      problems_.Add(*item,
                    base::StrCat("the class ", QuotedText(item->text), " needs a `dangerous:` entry"),
                    "an `api` list may hold read, read-host, write and write.x");
    }
    rule->api.push_back(item->text);
  }
  const Preset preset = rule->service->preset;
  if (!rule->api.empty() && preset == Preset::kNone) {
    problems_.Warn(*map.Find("api"), "this service has no catalogue: the `api` list allows nothing");
  }
}

void Loader::LoadDangerous(const MapReader& map, RepositoryRule* rule) {
  for (const YamlNode* node : map.List("dangerous")) {
    MapReader entry(*node, "an entry of `dangerous`", {"classes", "owner", "reason", "approved_by", "expires"}, &problems_);
    DangerousGrant grant;
    (void)entry.Need("classes");
    for (const YamlNode* item : entry.Texts("classes")) {
      if (!IsKnownClass(item->text) || item->text == "graphql")
        problems_.Add(*item, base::StrCat("the class ", QuotedText(item->text), " is not known"), "see the list in the policy docs");
      if (IsOrdinary(item->text)) problems_.Add(*item, base::StrCat(QuotedText(item->text), " needs no `dangerous:` entry"), "put it into `api`");
      grant.classes.push_back(item->text);
    }
    grant.owner = entry.NeedText("owner");
    grant.reason = entry.NeedText("reason");
    grant.approved_by = entry.Text("approved_by").value_or("");
    const std::string expires = entry.NeedText("expires");
    const auto time = base::ParseTime(expires);
    if (time.ok()) grant.expires = *time;
    if (!time.ok() && !expires.empty())
      problems_.Add(*entry.Find("expires"), base::StrCat(QuotedText(expires), " is not a time"), "write 2027-01-31 or 2027-01-31T12:00:00Z");
    rule->dangerous.push_back(std::move(grant));
  }
}

void Loader::LoadEndpoint(const YamlNode& node, Scope* scope) {
  MapReader map(node, "an entry of `endpoints`", {"service", "credential", "allow", "deny", "phases"}, &problems_);
  EndpointRule rule;
  rule.rule = base::StrCat(scope->name, "/endpoints/", scope->endpoints.size() + 1);
  rule.service = UsedService(map);
  rule.credential = UsedCredential(map, rule.service);
  rule.phases = Phases(map);
  rule.allow = Rows(map, "allow", PathPattern::Comparison::kExact);
  rule.deny = Rows(map, "deny", PathPattern::Comparison::kLoose);
  if (map.Find("deny") == nullptr) (void)map.Need("allow");
  scope->endpoints.push_back(std::move(rule));
}

std::vector<EndpointRow> Loader::Rows(const MapReader& map, std::string_view key, PathPattern::Comparison comparison) {
  std::vector<EndpointRow> out;
  for (const YamlNode* item : map.List(key)) {
    MapReader row(*item, base::StrCat("an entry of `", key, "`"), {"methods", "path"}, &problems_);
    (void)row.Need("methods");
    const std::string path = row.NeedText("path");
    auto pattern = PathPattern::Parse(path, comparison);
    if (!pattern.ok() && !path.empty()) {
      problems_.Add(*row.Find("path"), base::StrCat("the path pattern ", QuotedText(path), " is not allowed"),
                    DetailOf(pattern.status()));
    }
    if (pattern.ok()) out.push_back({Methods(row), *std::move(pattern)});
  }
  return out;
}

void Loader::LoadEgress(const YamlNode& node, Scope* scope) {
  MapReader map(node, "an entry of `egress`",
                {"hosts", "phases", "methods", "paths", "addresses", "upstream_ca", "plain_http"}, &problems_);
  EgressRule rule;
  const std::string number = base::StrCat(scope->egress.size() + 1);
  rule.rule = base::StrCat(scope->name, "/egress/", number);
  rule.plain_http = map.Allow("plain_http", false);
  if (map.Need("hosts") != nullptr) rule.hosts = Hosts(map, rule.plain_http);
  rule.phases = Phases(map);
  rule.methods = Methods(map);
  if (map.Find("methods") == nullptr) rule.methods = {"GET", "HEAD"};
  for (const YamlNode* item : map.Texts("paths")) {
    auto pattern = PathPattern::Parse(item->text);
    if (!pattern.ok()) {
      problems_.Add(*item, base::StrCat("the path pattern ", QuotedText(item->text), " is not allowed"),
                    DetailOf(pattern.status()));
      continue;
    }
    rule.paths.push_back(*std::move(pattern));
  }
  rule.upstream = Upstream(map, base::StrCat("egress ", scope->name, "/", number));
  scope->egress.push_back(std::move(rule));
}

}  // namespace credbroker::policy
