#include <set>

#include "base/str.h"
#include "evidence/values.h"

// What the policy in force permits in repositories, scope by scope.
namespace credbroker::evidence::values {
namespace {

using base::StrAppend;
using base::StrCat;

void Line(std::string_view text, std::string* out) { StrAppend(out, out->empty() ? "" : "\n", text); }

std::string Refs(const policy::PushRule& push) {
  std::string out;
  for (const policy::RefPattern& ref : push.refs) StrAppend(&out, out.empty() ? "" : ", ", ref.text());
  return out;
}

std::string Word(bool allowed) { return allowed ? "allow" : "deny"; }

// Calls `use(scope, rule)` for each repository entry.
template <typename Use>
void EachRepository(const Situation& s, Use use) {
  for (const auto& [name, scope] : s.rules->scopes()) {
    for (const policy::RepositoryRule& rule : scope.repositories) use(scope, rule);
  }
}

// The entries that grant a class beginning with one of `classes`, or `none`.
std::string Granting(const Situation& s, const std::set<std::string>& classes, std::string_view none) {
  std::string out;
  const auto named = [&](const std::string& granted) { return classes.contains(granted.substr(0, granted.find('.'))); };
  EachRepository(s, [&](const policy::Scope& scope, const policy::RepositoryRule& rule) {
    for (const std::string& granted : rule.api) {
      if (named(granted)) Line(StrCat("granted by scope ", scope.name, " on ", rule.name.Text(), ": ", granted), &out);
    }
    for (const policy::DangerousGrant& grant : rule.dangerous) {
      for (const std::string& granted : grant.classes) {
        if (!named(granted)) continue;
        Line(StrCat("DANGEROUS, granted by scope ", scope.name, " on ", rule.name.Text(), ": ", granted, "; ", grant.reason, "; owner ", grant.owner,
                    s.now < grant.expires ? "" : ", EXPIRED and blocked"), &out);
      }
    }
  });
  return out.empty() ? std::string(none) : out;
}

}  // namespace

std::string GitRights(const Situation& s) {
  std::string out;
  EachRepository(s, [&](const policy::Scope& scope, const policy::RepositoryRule& rule) {
    Line(StrCat(scope.name, " on ", rule.name.Text(), ": fetch ", Word(rule.fetch), ", push ", rule.push ? Refs(*rule.push) : "deny"), &out);
  });
  return out.empty() ? "Nothing: no scope names a repository." : out;
}

std::string PushRefs(const Situation& s) {
  std::string out = "A push is judged as a whole: one refused ref refuses all, and nothing goes to the host.";
  EachRepository(s, [&](const policy::Scope& scope, const policy::RepositoryRule& rule) {
    if (!rule.push) return;
    Line(StrCat(scope.name, " on ", rule.name.Text(), ": ", Refs(*rule.push), "; create ", Word(rule.push->create), ", delete ", Word(rule.push->remove), ", force ",
                Word(rule.push->force)), &out);
    for (const policy::ProtectedPath& path : rule.push->deny_paths) Line(StrCat("  never a change of ", path.text()), &out);
  });
  return out;
}

std::string MergeRights(const Situation& s) { return Granting(s, {"merge", "ref-write"}, "No: no scope grants the classes merge or ref-write, and pushes go to the refs of S16 only."); }
std::string ReviewRights(const Situation& s) { return Granting(s, {"review"}, "No: no scope grants the class review."); }

std::string Workflows(const Situation& s) {
  return StrCat(Granting(s, {"workflow"}, "Approving, dispatching and re-running workflows is refused: no scope grants the class workflow."),
                "\nwhether the host holds runs: ", DeclaredText(s, "host.workflow_hold"));
}

std::string GitRow(const Situation& s) {
  const std::string broad = Granting(s, {"admin", "merge", "protect", "token", "workflow"}, "");
  return broad.empty() ? "named branches only, no merge" : StrCat("named branches, and more:\n", broad);
}

std::string GapControls(const Situation& s) {
  std::string out;
  EachRepository(s, [&](const policy::Scope& scope, const policy::RepositoryRule& rule) {
    Line(StrCat(rule.name.Text(), " (", scope.name, "): scoped tokens on; branch protection unknown (not observed); held workflows unknown (not observed); review unknown (not observed)"), &out);
  });
  Line(StrCat("branch protection is the duty of: ", DeclaredText(s, "host.branch_protection_owner")), &out);
  return out;
}

std::string NarrowScopes(const Situation&) {
  return "Yes, by repository, ref, host, method, path and phase, and each token can be narrowed further. A condition on a repository's visibility is not offered.";
}

std::string Writable(const Situation& s) {
  std::string out = PushRefs(s);
  EachRepository(s, [&](const policy::Scope& scope, const policy::RepositoryRule& rule) {
    std::string writes;
    for (const std::string& granted : rule.api) {
      if (!granted.starts_with("read")) StrAppend(&writes, writes.empty() ? "" : ", ", granted);
    }
    if (!writes.empty()) Line(StrCat(scope.name, " on ", rule.name.Text(), ", API: ", writes), &out);
  });
  Line(StrCat("whether a person reviews first is the host's rule: ", DeclaredText(s, "host.branch_protection_owner")), &out);
  return out;
}

std::string Requesters(const Situation& s) {
  std::string out = "A session names its requester and its ticket, and each record repeats them. That the requester may write at the host is not checked here.";
  for (const auto& [name, scope] : s.rules->scopes()) {
    std::string who;
    for (const std::string& requester : scope.requesters) StrAppend(&who, who.empty() ? "" : ", ", requester);
    Line(StrCat("scope ", name, ": ", who.empty() ? "nobody" : who), &out);
  }
  return out;
}

std::string RecordLink(const Situation&) {
  return "`credbroker audit list --session ID` or `audit show REQUEST`: from the push to token, session, requester, scope and policy version. That the approver is another person is the host's rule.";
}

std::string WaysOut(const Situation& s) {
  return Granting(s, {"cross-repo", "publish", "admin", "token"}, "Yes: gists, other repositories, releases, packages and transfers are refused, credentials that are not ours are removed or refused, and egress hosts take GET and HEAD unless an entry says otherwise.");
}

}  // namespace credbroker::evidence::values
