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

// RFC 3986 pchar without `;`, `%` and with `/`.
bool IsPathByte(char c) { return IsUnreserved(c) || std::string_view("/!$&'()*+,=:@").find(c) != std::string_view::npos; }

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

absl::Status CheckPath(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.size() > 8192) return Bad("no leading slash, or too long");
  std::size_t segment = 1;
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at == path.size() || path[at] == '/') {
      const std::string_view name = path.substr(segment, at - segment);
      if (name == "." || name == "..") return Bad("dot segment");
      if (name.empty() && at != path.size()) return Bad("empty segment");
      segment = at + 1;
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
  constexpr std::string_view kRefs = "/info/refs", kUpload = "/git-upload-pack", kReceive = "/git-receive-pack", kArchive = "/git-upload-archive";
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
