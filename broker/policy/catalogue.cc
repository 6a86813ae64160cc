#include "policy/catalogue.h"

#include <algorithm>
#include <array>

#include "base/text.h"

// Rows are tried from the top: a row that names more must stand above one that names less, and a dangerous one above an
// ordinary one that could read the same path (a branch may be called `x/protection`). Allow by list, never deny by
// list: dangerous rows are here so that reports and refusals name their class.
namespace credbroker::policy {
namespace {

#define BOTH true, true
#define GITHUB true, false
#define GITEA false, true
#define REPO "/repos/{owner}/{repo}"
constexpr std::string_view kRepository = REPO;

constexpr CatalogueRow kRows[] = {
    // Paths whose middle spans segments.
    {"GET", REPO "/branches/{x...}/protection", "read-sensitive", GITHUB},
    {"PUT", REPO "/branches/{x...}/protection", "protect", GITHUB},
    {"DELETE", REPO "/branches/{x...}/protection", "protect", GITHUB},
    {"POST", REPO "/branches/{x...}/rename", "ref-write", GITHUB},
    {"GET", REPO "/commits/{x...}/status", "read", BOTH},
    {"GET", REPO "/commits/{x...}/statuses", "read", BOTH},
    {"GET", REPO "/commits/{x...}/check-runs", "read", GITHUB},
    {"GET", REPO "/commits/{x...}/check-suites", "read", GITHUB},
    {"GET", REPO "/commits/{x...}/pulls", "read", GITHUB},
    {"GET", REPO "/commits/{x...}/pull", "read", GITEA},
    // The repository itself.
    {"GET", REPO, "read", BOTH},
    {"PATCH", REPO, "protect", BOTH},
    {"DELETE", REPO, "delete", BOTH},
    {"GET", REPO "/readme", "read", GITHUB},
    {"GET", REPO "/readme/{x...}", "read", GITHUB},
    {"GET", REPO "/license", "read", GITHUB},
    {"GET", REPO "/languages", "read", BOTH},
    {"GET", REPO "/topics", "read", BOTH},
    {"PUT", REPO "/topics", "protect", BOTH},
    {"GET", REPO "/tags", "read", BOTH},
    {"GET", REPO "/contributors", "read", GITHUB},
    {"POST", REPO "/transfer", "cross-repo", BOTH},
    {"POST", REPO "/forks", "cross-repo", BOTH},
    {"POST", REPO "/generate", "cross-repo", BOTH},
    // Contents and history.
    {"GET", REPO "/contents", "read", BOTH},
    {"GET", REPO "/contents/{x...}", "read", BOTH},
    {"PUT", REPO "/contents/{x...}", "ref-write", BOTH},
    {"POST", REPO "/contents", "ref-write", GITEA},
    {"POST", REPO "/contents/{x...}", "ref-write", GITEA},
    {"DELETE", REPO "/contents/{x...}", "ref-write", BOTH},
    {"GET", REPO "/raw/{x...}", "read", GITEA},
    {"POST", REPO "/diffpatch", "ref-write", GITEA},
    {"GET", REPO "/branches", "read", BOTH},
    {"POST", REPO "/branches", "ref-write", GITEA},
    {"GET", REPO "/branches/{x...}", "read", BOTH},
    {"PATCH", REPO "/branches/{x...}", "ref-write", GITEA},
    {"DELETE", REPO "/branches/{x...}", "delete", GITEA},
    {"GET", REPO "/branch_protections", "read-sensitive", GITEA},
    {"POST", REPO "/branch_protections", "protect", GITEA},
    {"GET", REPO "/commits", "read", BOTH},
    {"GET", REPO "/commits/{x...}", "read", BOTH},
    {"GET", REPO "/compare/{basehead...}", "read", BOTH},
    {"GET", REPO "/tarball/{x...}", "read", GITHUB},
    {"GET", REPO "/zipball/{x...}", "read", GITHUB},
    {"GET", REPO "/archive/{x...}", "read", GITEA},
    {"POST", REPO "/merges", "merge", GITHUB},
    {"POST", REPO "/merge-upstream", "ref-write", BOTH},
    // Git objects: no ref moves. Refs do.
    {"GET", REPO "/git/ref/{x...}", "read", GITHUB},
    {"GET", REPO "/git/matching-refs/{x...}", "read", GITHUB},
    {"GET", REPO "/git/refs", "read", GITEA},
    {"GET", REPO "/git/refs/{x...}", "read", GITEA},
    {"GET", REPO "/git/blobs/{x}", "read", BOTH},
    {"GET", REPO "/git/trees/{x...}", "read", BOTH},
    {"GET", REPO "/git/commits/{x}", "read", BOTH},
    {"GET", REPO "/git/tags/{x}", "read", BOTH},
    {"POST", REPO "/git/blobs", "write.git_object", GITHUB},
    {"POST", REPO "/git/trees", "write.git_object", GITHUB},
    {"POST", REPO "/git/commits", "write.git_object", GITHUB},
    {"POST", REPO "/git/tags", "write.git_object", GITHUB},
    {"POST", REPO "/git/refs", "ref-write", GITHUB},
    {"PATCH", REPO "/git/refs/{x...}", "force-ref", GITHUB},
    {"DELETE", REPO "/git/refs/{x...}", "delete", GITHUB},
    {"POST", REPO "/tags", "ref-write", GITEA},
    {"DELETE", REPO "/tags/{x...}", "delete", GITEA},
    // Issues.
    {"GET", REPO "/issues", "read", BOTH},
    {"POST", REPO "/issues", "write.issue", BOTH},
    {"GET", REPO "/issues/comments", "read", BOTH},
    {"GET", REPO "/issues/comments/{n}", "read", BOTH},
    {"PATCH", REPO "/issues/comments/{n}", "write.issue", BOTH},
    {"DELETE", REPO "/issues/comments/{n}", "write.issue", BOTH},
    {"POST", REPO "/issues/comments/{n}/reactions", "write.issue", BOTH},
    {"GET", REPO "/issues/{n}", "read", BOTH},
    {"PATCH", REPO "/issues/{n}", "write.issue", BOTH},
    {"DELETE", REPO "/issues/{n}", "delete", GITEA},
    {"GET", REPO "/issues/{n}/comments", "read", BOTH},
    {"POST", REPO "/issues/{n}/comments", "write.issue", BOTH},
    {"GET", REPO "/issues/{n}/events", "read", GITHUB},
    {"GET", REPO "/issues/{n}/timeline", "read", BOTH},
    {"POST", REPO "/issues/{n}/reactions", "write.issue", BOTH},
    {"GET", REPO "/issues/{n}/labels", "read", BOTH},
    {"POST", REPO "/issues/{n}/labels", "write.label", BOTH},
    {"PUT", REPO "/issues/{n}/labels", "write.label", BOTH},
    {"DELETE", REPO "/issues/{n}/labels/{x}", "write.label", BOTH},
    {"POST", REPO "/issues/{n}/assignees", "write.issue", GITHUB},
    {"GET", REPO "/labels", "read", BOTH},
    {"GET", REPO "/labels/{x}", "read", BOTH},
    {"POST", REPO "/labels", "write.label", BOTH},
    {"PATCH", REPO "/labels/{x}", "write.label", BOTH},
    {"GET", REPO "/milestones", "read", BOTH},
    {"GET", REPO "/milestones/{n}", "read", BOTH},
    {"POST", REPO "/milestones", "write.milestone", BOTH},
    {"PATCH", REPO "/milestones/{n}", "write.milestone", BOTH},
    // Pull requests: opening one is a write, what closes the review is not.
    {"GET", REPO "/pulls", "read", BOTH},
    {"POST", REPO "/pulls", "write.pull_request", BOTH},
    {"GET", REPO "/pulls/comments", "read", GITHUB},
    {"GET", REPO "/pulls/{n}", "read", BOTH},
    {"GET", REPO "/pulls/{n}.diff", "read", GITEA},
    {"PATCH", REPO "/pulls/{n}", "write.pull_request", BOTH},
    {"GET", REPO "/pulls/{n}/files", "read", BOTH},
    {"GET", REPO "/pulls/{n}/commits", "read", BOTH},
    {"GET", REPO "/pulls/{n}/comments", "read", GITHUB},
    {"POST", REPO "/pulls/{n}/comments", "write.pull_request", GITHUB},
    {"POST", REPO "/pulls/{n}/comments/{n}/replies", "write.pull_request", GITHUB},
    {"GET", REPO "/pulls/{n}/requested_reviewers", "read", GITHUB},
    {"POST", REPO "/pulls/{n}/requested_reviewers", "write.pull_request", BOTH},
    {"GET", REPO "/pulls/{n}/reviews", "read", BOTH},
    {"GET", REPO "/pulls/{n}/reviews/{n}", "read", BOTH},
    {"GET", REPO "/pulls/{n}/reviews/{n}/comments", "read", BOTH},
    {"POST", REPO "/pulls/{n}/reviews", "review", BOTH},
    {"PUT", REPO "/pulls/{n}/reviews/{n}", "review", GITHUB},
    {"POST", REPO "/pulls/{n}/reviews/{n}", "review", GITEA},
    {"POST", REPO "/pulls/{n}/reviews/{n}/events", "review", GITHUB},
    {"PUT", REPO "/pulls/{n}/reviews/{n}/dismissals", "review", GITHUB},
    {"POST", REPO "/pulls/{n}/reviews/{n}/dismissals", "review", GITEA},
    {"GET", REPO "/pulls/{n}/merge", "read", BOTH},
    {"PUT", REPO "/pulls/{n}/merge", "merge", GITHUB},
    {"PUT", REPO "/pulls/{n}/merge-async", "merge", GITHUB},
    {"POST", REPO "/pulls/{n}/merge", "merge", GITEA},
    {"PUT", REPO "/pulls/{n}/update-branch", "ref-write", GITHUB},
    {"POST", REPO "/pulls/{n}/update", "ref-write", GITEA},
    // Checks, statuses, workflows.
    {"GET", REPO "/check-runs/{n}", "read", GITHUB},
    {"GET", REPO "/check-runs/{n}/annotations", "read", GITHUB},
    {"POST", REPO "/check-runs", "ci-result", GITHUB},
    {"POST", REPO "/check-runs/{n}/rerequest", "workflow", GITHUB},
    {"GET", REPO "/statuses/{x}", "read", GITEA},
    {"POST", REPO "/statuses/{x}", "ci-result", BOTH},
    {"GET", REPO "/actions/runs", "read", GITHUB},
    {"GET", REPO "/actions/runs/{n}", "read", GITHUB},
    {"GET", REPO "/actions/runs/{n}/jobs", "read", GITHUB},
    {"GET", REPO "/actions/runs/{n}/logs", "read", GITHUB},
    {"GET", REPO "/actions/jobs/{n}", "read", GITHUB},
    {"GET", REPO "/actions/jobs/{n}/logs", "read", GITHUB},
    {"GET", REPO "/actions/workflows", "read", GITHUB},
    {"GET", REPO "/actions/workflows/{x}", "read", GITHUB},
    {"GET", REPO "/actions/workflows/{x}/runs", "read", GITHUB},
    {"POST", REPO "/actions/workflows/{x}/dispatches", "workflow", BOTH},
    {"POST", REPO "/actions/runs/{n}/rerun", "workflow", GITHUB},
    {"POST", REPO "/actions/runs/{n}/approve", "workflow", GITHUB},
    {"POST", REPO "/actions/runs/{n}/cancel", "workflow", GITHUB},
    {"DELETE", REPO "/actions/runs/{n}", "ci-evidence", GITHUB},
    {"POST", REPO "/dispatches", "workflow", GITHUB},
    {"GET", REPO "/actions/secrets", "read-sensitive", BOTH},
    {"PUT", REPO "/actions/secrets/{x}", "admin", BOTH},
    {"GET", REPO "/actions/variables", "read-sensitive", BOTH},
    {"POST", REPO "/actions/runners/registration-token", "token", BOTH},
    // Releases, deployments.
    {"GET", REPO "/releases", "read", BOTH},
    {"GET", REPO "/releases/latest", "read", BOTH},
    {"GET", REPO "/releases/{n}", "read", BOTH},
    {"GET", REPO "/releases/tags/{x...}", "read", BOTH},
    {"POST", REPO "/releases", "publish", BOTH},
    {"PATCH", REPO "/releases/{n}", "publish", BOTH},
    {"DELETE", REPO "/releases/{n}", "publish", BOTH},
    {"POST", REPO "/deployments", "deploy", GITHUB},
    // Administration.
    {"GET", REPO "/hooks", "read-sensitive", BOTH},
    {"POST", REPO "/hooks", "admin", BOTH},
    {"PATCH", REPO "/hooks/{n}", "admin", BOTH},
    {"DELETE", REPO "/hooks/{n}", "admin", BOTH},
    {"GET", REPO "/keys", "read-sensitive", BOTH},
    {"POST", REPO "/keys", "admin", BOTH},
    {"DELETE", REPO "/keys/{n}", "admin", BOTH},
    {"GET", REPO "/collaborators", "read-sensitive", BOTH},
    {"PUT", REPO "/collaborators/{x}", "admin", BOTH},
    {"DELETE", REPO "/collaborators/{x}", "admin", BOTH},
    {"GET", REPO "/secret-scanning/alerts", "read-sensitive", GITHUB},
    {"POST", REPO "/rulesets", "protect", GITHUB},
    // The host.
    {"GET", "/rate_limit", "read-host", GITHUB},
    {"GET", "/meta", "read-host", GITHUB},
    {"GET", "/emojis", "read-host", GITHUB},
    {"GET", "/licenses", "read-host", BOTH},
    {"GET", "/licenses/{x}", "read-host", BOTH},
    {"GET", "/gitignore/templates", "read-host", BOTH},
    {"GET", "/version", "read-host", GITEA},
    {"POST", "/markdown", "read-host", BOTH},
    {"GET", "/user", "read-outside", BOTH},
    {"POST", "/user/keys", "admin", BOTH},
    {"POST", "/user/repos", "cross-repo", BOTH},
    {"GET", "/search/{x}", "read-outside", GITHUB},
    {"POST", "/gists", "cross-repo", GITHUB},
    {"POST", "/graphql", "graphql", GITHUB},
};

#undef BOTH
#undef GITHUB
#undef GITEA
#undef REPO

// The first segment of `*rest`, which moves past it.
std::string_view Take(std::string_view* rest) {
  const std::size_t slash = rest->find('/');
  const std::string_view out = rest->substr(0, slash);
  rest->remove_prefix(slash == std::string_view::npos ? rest->size() : slash + 1);
  return out;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool MatchesSegment(std::string_view pattern, std::string_view text) {
  if (text.empty()) return false;
  if (!pattern.starts_with('{')) return pattern == text;
  if (pattern.starts_with("{n}")) {
    const std::string_view suffix = pattern.substr(3);
    return text.size() > suffix.size() && text.ends_with(suffix) &&
           IsNumber(text.substr(0, text.size() - suffix.size()));
  }
  return true;
}

// `compare` takes `owner:branch` and so reaches forks; the colon may be encoded.
bool NamesAnotherOwner(std::string_view rest) {
  return rest.find(':') != std::string_view::npos || rest.find("%3A") != std::string_view::npos ||
         rest.find("%3a") != std::string_view::npos;
}

bool MatchesTail(std::string_view pattern, std::string_view after, std::string_view rest) {
  if (pattern == "{basehead...}" && NamesAnotherOwner(rest)) return false;
  if (rest.ends_with('/') || rest.empty()) return false;
  // Only one literal segment may follow a spanning one.
  if (after.empty()) return true;
  return rest.size() > after.size() + 1 && rest.ends_with(after) && rest[rest.size() - after.size() - 1] == '/';
}

// A cheap look at the first bytes, which rules most rows out. Patterns begin with a literal.
bool MayMatch(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || path.empty()) return pattern.empty() && path.empty();
  return pattern.size() > 2 && path.size() > 2 && pattern[1] == path[1] && pattern[2] == path[2];
}

bool MatchesRow(std::string_view pattern, std::string_view path) {
  if (path.empty()) return pattern.empty();
  pattern.remove_prefix(1);
  path.remove_prefix(1);
  while (!pattern.empty() && !path.empty()) {
    const std::string_view want = Take(&pattern);
    if (want.ends_with("...}")) return MatchesTail(want, pattern, path);
    const bool slash_ends = path.ends_with('/');
    if (!MatchesSegment(want, Take(&path))) return false;
    if (path.empty() && slash_ends) return false;
  }
  return pattern.empty() && path.empty();
}

}  // namespace

std::optional<Operation> Classify(Preset preset, std::string_view method, std::string_view path) {
  if (preset != Preset::kGithub && preset != Preset::kGitea) return std::nullopt;
  if (!path.starts_with('/')) return std::nullopt;
  if (method == "HEAD") method = "GET";
  Operation out;
  std::string_view rest = path;
  const bool named = path.starts_with("/repos/");
  if (named) {
    const std::size_t slash = path.find('/', 7);
    if (slash == std::string_view::npos || slash == 7) return std::nullopt;
    const std::size_t end = std::min(path.find('/', slash + 1), path.size());
    if (end == slash + 1) return std::nullopt;
    out.repository = path.substr(7, end - 7);
    rest = path.substr(end);
  }
  for (const CatalogueRow& row : kRows) {
    if (row.method != method || !(preset == Preset::kGithub ? row.github : row.gitea)) continue;
    if (row.path.starts_with(kRepository) != named) continue;
    const std::string_view pattern = named ? row.path.substr(kRepository.size()) : row.path;
    if (!MayMatch(pattern, rest) || !MatchesRow(pattern, rest)) continue;
    out.effect_class = row.effect_class;
    return out;
  }
  return std::nullopt;
}

std::optional<Operation> ClassifyOn(const Service& service, const ServiceHost& host, std::string_view method,
                                    std::string_view path) {
  if (!host.api) return std::nullopt;
  if (path.starts_with(host.api_prefix) && path.substr(host.api_prefix.size()).starts_with('/')) {
    if (auto operation = Classify(service.preset, method, path.substr(host.api_prefix.size()))) return operation;
  }
  // GitHub Enterprise serves GraphQL beside the REST prefix.
  if (service.preset == Preset::kGithub && path == "/api/graphql") return Classify(service.preset, method, "/graphql");
  if (host.root_api_too && path.starts_with("/repos/")) return Classify(service.preset, method, path);
  return std::nullopt;
}

std::span<const CatalogueRow> Catalogue() { return kRows; }

bool Covers(std::string_view granted, std::string_view effect_class) {
  if (!effect_class.starts_with(granted)) return false;
  return effect_class.size() == granted.size() || effect_class[granted.size()] == '.';
}

bool IsOrdinary(std::string_view effect_class) {
  return effect_class == "read-host" || Covers("read", effect_class) || Covers("write", effect_class);
}

bool IsKnownClass(std::string_view effect_class) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const CatalogueRow& row) { return Covers(effect_class, row.effect_class); });
}

}  // namespace credbroker::policy
