#include "policy/graphql_rules.h"

#include <algorithm>
#include <set>

#include "base/str.h"
#include "base/text.h"
#include "model/target.h"
#include "policy/body_rules.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using model::BodyField;
using model::GraphqlFacts;
using model::SelectedField;
using Kind = BodyField::Kind;
using Names = std::set<std::string_view>;

struct Mutation {
  std::string_view name, effect_class;
};
#define MUTATION(name, effect) {name, effect},
constexpr Mutation kMutations[] = {
#include "policy/graphql_mutations.def"
};
#undef MUTATION

struct FieldNames {
  Names inside, doors, identity;
};
const FieldNames& TheNames() {
#define INSIDE(...) {__VA_ARGS__},
#define DOOR(...) {__VA_ARGS__},
#define IDENTITY(...) {__VA_ARGS__}
  static const FieldNames& names = *new FieldNames{
#include "policy/graphql_fields.def"
  };
#undef INSIDE
#undef DOOR
#undef IDENTITY
  return names;
}

constexpr std::size_t kMaxPathBytes = 1 << 20;  // of all paths of one operation

const Names kHostRoots = {"__typename", "__schema", "__type", "rateLimit", "codeOfConduct", "codesOfConduct", "license", "licenses", "meta"};
// Arguments that name people, not things of a repository.
const Names kPeople = {"assigneeIds", "userIds", "teamIds", "botIds"};

ApiVerdict Refused(ErrorCode code, std::string_view effect) {
  ApiVerdict out;
  out.code = code;
  out.effect_class = effect;
  out.closed = true;
  return out;
}

const BodyField* Argument(const SelectedField& field, std::string_view path) {
  for (const BodyField& argument : field.arguments) {
    if (argument.path == path) return &argument;
  }
  return nullptr;
}

std::string_view TextArgument(const SelectedField& field, std::string_view path) {
  const BodyField* argument = Argument(field, path);
  return argument != nullptr && argument->kind == Kind::kString ? std::string_view(argument->text) : std::string_view();
}

// `owner/name` that the field names, in lower case; empty when it names none for sure.
std::string NamedRepository(const SelectedField& field) {
  const std::string_view owner = TextArgument(field, "owner"), name = TextArgument(field, "name");
  if (owner.empty() || name.empty() || owner.find('/') != std::string_view::npos || name.find('/') != std::string_view::npos) return {};
  for (const BodyField& argument : field.arguments) {
    if (argument.path != "owner" && argument.path != "name" && argument.path != "followRenames") return {};
  }
  return base::AsciiLower(base::StrCat(owner, "/", name));
}

enum class Place { kHost, kInside, kOutside, kForbidden };

// Where a field stands, from where its parent does.
Place PlaceBelow(Place parent, const SelectedField& field) {
  const FieldNames& names = TheNames();
  if (parent == Place::kHost) return Place::kHost;
  if (parent == Place::kInside) {
    if (names.inside.contains(field.name)) return Place::kInside;
    return names.doors.contains(field.name) ? Place::kOutside : Place::kForbidden;
  }
  // An argument could choose another thing: `owner { repository(name: "x") }`.
  return names.identity.contains(field.name) && field.arguments.empty() ? Place::kOutside : Place::kForbidden;
}

Place PlaceOfRoot(const GraphqlFacts& operation, const SelectedField& field) {
  if (operation.mutation) return Place::kInside;
  if (kHostRoots.contains(field.name)) return Place::kHost;
  if (field.name == "viewer") return Place::kOutside;
  return field.name == "repository" ? Place::kInside : Place::kForbidden;
}

std::vector<Place> Places(const GraphqlFacts& operation) {
  std::vector<Place> out;
  for (const SelectedField& field : operation.fields) {
    if (field.parent < 0) {
      out.push_back(PlaceOfRoot(operation, field));
      continue;
    }
    const Place parent = out[static_cast<std::size_t>(field.parent)];
    out.push_back(parent == Place::kForbidden ? Place::kForbidden : PlaceBelow(parent, field));
  }
  return out;
}

std::string_view LastName(std::string_view path) {
  if (path.ends_with("/*")) path.remove_suffix(2);
  return path.substr(path.rfind('/') + 1);
}

bool IsNodeId(std::string_view name) {
  return name != "clientMutationId" && (name == "id" || name == "ids" || name.ends_with("Id") || name.ends_with("Ids"));
}

// The one repository that all node ids of a mutation belong to; empty when that is not sure.
std::string RepositoryOfIds(const GraphqlFacts& operation, const SelectedField& field) {
  std::string out;
  for (const BodyField& argument : field.arguments) {
    const std::string_view name = LastName(argument.path);
    if (!IsNodeId(name) || kPeople.contains(name) || argument.kind == Kind::kNull || argument.kind == Kind::kArray) continue;
    const auto known = argument.kind == Kind::kString ? operation.nodes.find(argument.text) : operation.nodes.end();
    if (known == operation.nodes.end() || (!out.empty() && out != known->second)) return {};
    out = known->second;
  }
  return out;
}

// What the arguments make of the class.
std::string_view RefineMutation(const SelectedField& field, std::string_view effect) {
  if (field.name == "addPullRequestReview" || field.name == "submitPullRequestReview") {
    return TextArgument(field, "input/event") == "COMMENT" ? "write.review_comment" : effect;
  }
  if (field.name == "updatePullRequest" && Argument(field, "input/baseRefName") != nullptr) return "review.retarget";
  return effect;
}

// Whether some rule of the session grants the class anywhere on the service.
ApiVerdict GrantedSomewhere(const ApiCase& request, std::string_view effect) {
  ApiVerdict last = Refused(ErrorCode::kClassNotAllowed, effect);
  for (const RuleSet::IndexedScope* scope : request.scopes) {
    for (const RepositoryRule& rule : scope->scope->repositories) {
      if (rule.service != request.match.service) continue;
      ApiVerdict one = JudgeRule(request, {scope->scope, &rule}, effect);
      if (one.code == ErrorCode::kNone) return one;
      if (one.code == ErrorCode::kExceptionExpired) last = std::move(one);
    }
  }
  return last;
}

ApiVerdict JudgeCommit(const ApiCase& request, const SelectedField& field, std::string_view effect, std::string* repository) {
  const std::string_view named = TextArgument(field, "input/branch/repositoryNameWithOwner");
  const std::string_view branch = TextArgument(field, "input/branch/branchName");
  if (named.empty() || branch.empty()) return Refused(ErrorCode::kBodyUndecided, effect);
  *repository = model::CanonicalRepository(named);
  model::RefChange change;
  change.ref = base::StrCat(branch.starts_with("refs/") ? "" : "refs/heads/", branch);
  change.ancestry = model::RefChange::Ancestry::kFastForward;  // the mutation cannot do anything else
  for (const BodyField& argument : field.arguments) {
    if (LastName(argument.path) == "path" && IsWorkflowFile(argument.text)) effect = "workflow.file";
  }
  return JudgeRef(request, *repository, effect, change);
}

ApiVerdict JudgeMutation(const ApiCase& request, const GraphqlFacts& operation, const SelectedField& field, std::string* repository) {
  std::string_view effect = MutationClass(field.name);
  if (effect.empty()) return Refused(ErrorCode::kUnknownOperation, "graphql");
  effect = RefineMutation(field, effect);
  // The class first: what is refused for it must say so, whatever its ids are.
  ApiVerdict somewhere = GrantedSomewhere(request, effect);
  if (somewhere.code != ErrorCode::kNone) return somewhere;
  if (field.name == "createCommitOnBranch") return JudgeCommit(request, field, effect, repository);
  // It moves refs that no push rule can be asked about.
  if (Covers("ref-write", effect) || effect == "force-ref" || effect == "delete") return Refused(ErrorCode::kBodyUndecided, effect);
  *repository = RepositoryOfIds(operation, field);
  if (repository->empty()) return Refused(ErrorCode::kOperationNotAllowed, effect);
  const std::string_view head = TextArgument(field, "input/headRefName");
  const std::size_t colon = head.find(':');
  const std::string_view owner = std::string_view(*repository).substr(0, repository->find('/'));
  if (colon != std::string_view::npos && !base::EqualsIgnoreCase(head.substr(0, colon), owner))
    return Refused(ErrorCode::kCrossRepository, effect);
  return JudgeClass(request, *repository, false, effect);
}

// Constants of the host, and who the credential is: part of every client's first question, so that `read` opens it, too.
ApiVerdict JudgeHost(const ApiCase& request) {
  ApiVerdict out = JudgeClass(request, {}, false, "read-host");
  if (out.code == ErrorCode::kNone) return out;
  ApiVerdict reading = GrantedSomewhere(request, "read");
  reading.effect_class = "read-host";
  return reading.code == ErrorCode::kNone ? reading : out;
}

ApiVerdict JudgeRoot(const ApiCase& request, const GraphqlFacts& operation, const SelectedField& field, std::string* repository) {
  const Place place = PlaceOfRoot(operation, field);
  if (operation.mutation && field.name != "__typename") return JudgeMutation(request, operation, field, repository);
  if (place == Place::kForbidden) return Refused(ErrorCode::kOperationNotAllowed, "read-outside");
  if (place != Place::kInside || operation.mutation) return JudgeHost(request);
  *repository = NamedRepository(field);
  if (repository->empty()) return Refused(ErrorCode::kOperationNotAllowed, "read");
  return JudgeClass(request, *repository, false, "read");
}

}  // namespace

ApiVerdict JudgeGraphql(const ApiCase& request, std::string* repository) {
  const model::BodyFacts* body = request.facts.body.get();
  if (body == nullptr || !body->graphql || body->operation.fields.empty()) return Refused(ErrorCode::kBodyUndecided, "graphql");
  const GraphqlFacts& operation = body->operation;
  ApiVerdict all;
  bool first = true;
  for (const SelectedField& field : operation.fields) {
    if (field.parent >= 0) continue;
    std::string named;
    ApiVerdict one = JudgeRoot(request, operation, field, &named);
    if (one.code != ErrorCode::kNone) {
      *repository = named;
      one.closed = true;  // an endpoint rule sees the path only, which says nothing here
      return one;
    }
    if (first) {
      all = std::move(one);
      *repository = named;
      first = false;
      continue;
    }
    if (named.empty()) continue;
    // One request carries one credential and is one effect on one repository.
    const bool other = !repository->empty() && (named != *repository || one.by.rule->credential != all.by.rule->credential);
    if (other) return Refused(ErrorCode::kOperationNotAllowed, one.effect_class);
    if (repository->empty() || !IsOrdinary(one.effect_class)) all = std::move(one);
    *repository = named;
  }
  const std::vector<Place> places = Places(operation);
  if (std::find(places.begin(), places.end(), Place::kForbidden) != places.end())
    return Refused(ErrorCode::kOperationNotAllowed, "read-outside");
  return all;
}

std::vector<std::string> NodeIdPaths(const GraphqlFacts& operation, std::string* repository) {
  std::vector<std::string> paths, out;
  std::set<std::string> others;
  std::size_t bytes = 0;
  const std::vector<Place> places = Places(operation);
  for (std::size_t i = 0; i < operation.fields.size(); ++i) {
    const SelectedField& field = operation.fields[i];
    const bool root = field.parent < 0;
    paths.push_back(base::StrCat(root ? std::string("data") : paths[static_cast<std::size_t>(field.parent)], "/", field.key));
    bytes += paths.back().size();
    if (bytes > kMaxPathBytes) return {};
    if (root && places[i] == Place::kInside) {
      // What a mutation on things of one repository gives back is of that repository, too.
      const std::string named = operation.mutation ? RepositoryOfIds(operation, field) : NamedRepository(field);
      if (named.empty() || (!repository->empty() && named != *repository)) return {};
      *repository = named;
    }
    const bool own = !root && field.name == "id" && places[i] == Place::kInside;
    if (own) out.push_back(paths.back());
    if (!own) others.insert(paths.back());
  }
  // Under other type conditions an alias can give another field the same place in the answer: a text that anybody can write.
  std::erase_if(out, [&](const std::string& path) { return others.contains(path); });
  return out;
}

std::string_view MutationClass(std::string_view name) {
  const auto* found = std::find_if(std::begin(kMutations), std::end(kMutations), [&](const Mutation& m) { return m.name == name; });
  return found == std::end(kMutations) ? std::string_view() : found->effect_class;
}

std::vector<std::string> MutationReport() {
  std::vector<std::string> out;
  for (const Mutation& mutation : kMutations) out.push_back(base::StrCat(mutation.name, " ", mutation.effect_class));
  return out;
}

}  // namespace credbroker::policy
