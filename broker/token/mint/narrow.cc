#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "model/authority.h"
#include "token/mint/mint.h"

namespace credbroker::token {
namespace {

using Covers = bool (*)(std::string_view parent, std::string_view asked);

std::string_view NextSegment(std::string_view* rest) {
  const std::size_t slash = rest->find('/');
  const std::string_view segment = rest->substr(0, slash);
  rest->remove_prefix(slash == std::string_view::npos ? rest->size() : slash + 1);
  return segment;
}

// True only when every text that the pattern `asked` matches is surely matched by `parent`. Where it cannot be shown
// (wildcards inside a segment) it says no: a child then asks for less.
bool PatternCovers(std::string_view parent, std::string_view asked) {
  if (parent == asked) return true;
  while (!parent.empty() && !asked.empty()) {
    const std::string_view outer = NextSegment(&parent);
    if (outer == "**") return parent.empty();  // at the end it takes whatever is left, which is not nothing here
    const std::string_view inner = NextSegment(&asked);
    const bool one_segment = inner.find("**") == std::string_view::npos && !inner.empty();
    if (outer != inner && !(outer == "*" && one_segment)) return false;
  }
  return parent.empty() && asked.empty();
}

std::string_view WithoutGit(std::string_view name) {
  return name.ends_with(".git") ? name.substr(0, name.size() - 4) : name;
}

bool RepositoryCovers(std::string_view parent, std::string_view asked) {
  const std::string outer = base::AsciiLower(parent);
  const std::string inner = base::AsciiLower(asked);
  return PatternCovers(WithoutGit(outer), WithoutGit(inner));
}

bool HostCovers(std::string_view parent, std::string_view asked) {
  const auto outer = model::HostPattern::Parse(parent);
  const auto inner = model::HostPattern::Parse(asked);
  if (!outer.ok() || !inner.ok()) return false;
  if (outer->Text() == inner->Text()) return true;
  return !inner->wildcard() && outer->Matches(inner->authority());
}

bool SameText(std::string_view parent, std::string_view asked) { return parent == asked; }

absl::StatusOr<std::vector<std::string>> NarrowList(const std::vector<std::string>& parent,
                                                    const std::vector<std::string>& asked, Covers covers,
                                                    std::string_view what) {
  if (asked.empty()) return parent;
  if (parent.empty()) return asked;
  for (const std::string& entry : asked) {
    const bool covered =
        std::any_of(parent.begin(), parent.end(), [&](const std::string& outer) { return covers(outer, entry); });
    if (!covered) {
      return base::Error(base::ErrorCode::kWiderThanParent, base::StrCat(what, " ", base::EscapeText(entry, 120)));
    }
  }
  return asked;
}

}  // namespace

absl::StatusOr<model::Narrowing> NarrowFurther(const model::Narrowing& parent, const model::Narrowing& asked) {
  model::Narrowing child;
  ASSIGN_OR_RETURN(child.repositories,
                   NarrowList(parent.repositories, asked.repositories, &RepositoryCovers, "repository"));
  ASSIGN_OR_RETURN(child.refs, NarrowList(parent.refs, asked.refs, &PatternCovers, "ref"));
  ASSIGN_OR_RETURN(child.methods, NarrowList(parent.methods, asked.methods, &SameText, "method"));
  ASSIGN_OR_RETURN(child.hosts, NarrowList(parent.hosts, asked.hosts, &HostCovers, "host"));
  return child;
}

}  // namespace credbroker::token
