#include "model/target.h"

#include "base/error.h"
#include "base/text.h"

namespace credbroker::model {
namespace {

using base::ErrorCode;

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadPath, why); }

int Hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsUnreserved(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

// `/objects/batch`, `/locks`, `/locks/verify`, `/locks/ID/unlock`, `/objects/OID` behind `info/lfs`.
void DescribeLfs(std::string_view method, std::string_view part, std::optional<std::string_view> query, GitFacts* git) {
  using Operation = GitFacts::Operation;
  using Part = LfsFacts::Part;
  const auto is = [&](Part which, Operation operation) {
    git->lfs.part = which;
    git->operation = operation;
  };
  const bool post = method == "POST" && !query;
  if (part == "/objects/batch" && post) return is(Part::kBatch, Operation::kLfsRead);
  if (part == "/locks" && post) return is(Part::kLocks, Operation::kLfsWrite);
  if (part == "/locks" && method == "GET") return is(Part::kLocks, Operation::kLfsRead);
  if (part == "/locks/verify" && post) return is(Part::kVerifyLocks, Operation::kLfsCheck);
  constexpr std::string_view kObjects = "/objects/", kLocks = "/locks/", kUnlock = "/unlock";
  if (part.starts_with(kObjects) && part != "/objects/batch" && part.find('/', kObjects.size()) == std::string_view::npos && query) {
    return is(Part::kObject, method == "GET" || method == "HEAD" ? Operation::kLfsRead : Operation::kLfsWrite);
  }
  if (!part.starts_with(kLocks) || !part.ends_with(kUnlock) || !post || part.size() <= kLocks.size() + kUnlock.size()) return;
  const std::string_view id = part.substr(kLocks.size(), part.size() - kLocks.size() - kUnlock.size());
  if (id.find('/') == std::string_view::npos) is(Part::kUnlock, Operation::kLfsWrite);
}

// Where in the path a repository's own files begin that only dumb HTTP asks for (`x.git/HEAD`, `x.git/objects/...`), or npos.
std::size_t FindDumb(std::string_view path) {
  const std::size_t git = path.find(".git/");
  if (git == std::string_view::npos || git < 2) return std::string_view::npos;
  const std::string_view rest = path.substr(git + 5);
  for (const std::string_view name : {"HEAD", "objects", "info", "refs", "config", "packed-refs", "hooks", "logs"}) {
    if (rest == name || (rest.starts_with(name) && rest.substr(name.size()).starts_with('/'))) return git + 4;
  }
  return std::string_view::npos;
}

// RFC 3986 pchar without `;`, `%` and with `/`.
bool IsPathByte(char c) { return IsUnreserved(c) || std::string_view("/!$&'()*+,=:@").find(c) != std::string_view::npos; }

bool IsEncodedSlash(std::string_view path, std::size_t at) {
  return at + 2 < path.size() && path[at + 1] == '2' && (path[at + 2] == 'F' || path[at + 2] == 'f');
}

absl::Status CheckEncoded(std::string_view path, std::size_t at) {
  const int high = at + 2 < path.size() ? Hex(path[at + 1]) : -1;
  const int low = at + 2 < path.size() ? Hex(path[at + 2]) : -1;
  if (high < 0 || low < 0) return Bad("bad percent encoding");
  const int value = high * 16 + low;
  if (value < 0x20 || value == 0x7F || value == '/' || value == '\\' || value == ';' || value == '%' || value == '?' || value == '#') return Bad("encoded separator or control");
  if (IsUnreserved(value)) return Bad("encoded without need");
  return absl::OkStatus();
}

}  // namespace

Target SplitTarget(std::string_view target) {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {target, std::nullopt};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

absl::Status CheckPath(std::string_view path, EncodedSlash slashes) {
  if (path.empty() || path.front() != '/' || path.size() > 8192) return Bad("no leading slash, or too long");
  constexpr std::string_view kProjects = "/api/v4/projects/";
  const bool may_encode = slashes == EncodedSlash::kGitlab && path.starts_with(kProjects);
  std::size_t segment = 1;
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at == path.size() || path[at] == '/') {
      const std::string_view name = path.substr(segment, at - segment);
      if (name == "." || name == "..") return Bad("dot segment");
      if (name.empty() && at != path.size()) return Bad("empty segment");
      segment = at + 1;
      continue;
    }
    if (may_encode && at >= kProjects.size() && path[at] == '%' && IsEncodedSlash(path, at)) {
      const std::string_view name = path.substr(segment, at - segment);
      const char next = at + 3 < path.size() ? path[at + 3] : '/';
      if (name.empty() || name == "." || name == ".." || next == '/') return Bad("empty or dot segment");
      segment = at + 3;
      at += 2;
      continue;
    }
    if (path[at] == '%') {
      if (absl::Status status = CheckEncoded(path, at); !status.ok()) return status;
      at += 2;
    } else if (!IsPathByte(path[at])) {
      return Bad("a character that paths may not hold");
    }
  }
  return absl::OkStatus();
}

std::optional<GitFacts> DescribeGit(std::string_view method, std::string_view path, std::optional<std::string_view> query) {
  using Operation = GitFacts::Operation;
  constexpr std::string_view kRefs = "/info/refs", kUpload = "/git-upload-pack", kReceive = "/git-receive-pack", kArchive = "/git-upload-archive", kLfs = "/info/lfs";
  GitFacts git;
  std::string_view suffix;
  if (path.ends_with(kRefs)) {
    suffix = kRefs;
    // Exactly one of two queries: anything else is dumb HTTP or a second reading of the parameter.
    if (method == "GET" && query == "service=git-upload-pack") git.operation = Operation::kDiscoverFetch;
    if (method == "GET" && query == "service=git-receive-pack") git.operation = Operation::kDiscoverPush;
  } else if (path.ends_with(kUpload)) {
    suffix = kUpload;
    if (method == "POST" && !query) git.operation = Operation::kFetch;
  } else if (path.ends_with(kReceive)) {
    suffix = kReceive;
    if (method == "POST" && !query) git.operation = Operation::kPush;
  } else if (path.ends_with(kArchive)) {
    suffix = kArchive;
  } else if (const std::size_t lfs = path.find(kLfs); lfs != std::string_view::npos) {
    suffix = path.substr(lfs);
    DescribeLfs(method, suffix.substr(kLfs.size()), query, &git);
  } else if (const std::size_t dumb = FindDumb(path); dumb != std::string_view::npos) {
    suffix = path.substr(dumb);
  } else {
    return std::nullopt;
  }
  std::string_view repository = path.substr(0, path.size() - suffix.size());
  if (repository.size() < 2) return std::nullopt;
  repository.remove_prefix(1);
  if (repository.ends_with(".git") && repository.size() > 4) repository.remove_suffix(4);
  git.repository = repository;
  return git;
}

std::string CanonicalRepository(std::string_view name) {
  std::string out = base::AsciiLower(name);
  if (out.ends_with(".git") && out.size() > 4) out.resize(out.size() - 4);
  return out;
}

}  // namespace credbroker::model
