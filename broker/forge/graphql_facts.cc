#include "forge/graphql_facts.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "wire/graphql.h"

namespace credbroker::forge {
namespace {

using base::ErrorCode;
using model::BodyFacts;
using model::BodyField;
using model::GraphqlFacts;
using wire::GraphqlSelection;
using wire::GraphqlValue;
using Kind = BodyField::Kind;

constexpr std::size_t kMaxFields = 5000;
constexpr std::size_t kMaxValues = 20'000;
constexpr std::size_t kMaxBytes = 4 << 20;  // of paths and texts: a variable is copied to each of its uses
constexpr std::size_t kMaxPath = 1024;
constexpr int kMaxDepth = 64;  // with fragments in place

BodyField::Kind KindOf(GraphqlValue::Kind kind) {
  switch (kind) {
    case GraphqlValue::Kind::kNumber: return Kind::kNumber;
    case GraphqlValue::Kind::kTrue: return Kind::kTrue;
    case GraphqlValue::Kind::kFalse: return Kind::kFalse;
    case GraphqlValue::Kind::kNull:
    case GraphqlValue::Kind::kVariable: return Kind::kNull;
    case GraphqlValue::Kind::kList: return Kind::kArray;
    case GraphqlValue::Kind::kObject: return Kind::kObject;
    default: return Kind::kString;  // an enum value is as good as its text
  }
}

class Expander {
 public:
  Expander(const wire::GraphqlDocument& document, const wire::GraphqlOperation& operation, const BodyFacts& body, GraphqlFacts* out)
      : document_(document), operation_(operation), body_(body), out_(out) {
    // What a variable holds stands together, behind it.
    constexpr std::string_view kVariables = "variables/";
    for (std::size_t i = 0; i < body.members.size(); ++i) {
      const std::string_view path = body.members[i].path;
      if (!path.starts_with(kVariables)) continue;
      const std::string_view name = path.substr(kVariables.size(), path.find('/', kVariables.size()) - kVariables.size());
      const auto range = given_.try_emplace(name, std::pair(i, i)).first;
      range->second.second = i + 1;
    }
  }

  bool Run() { return Selections(operation_.selections, -1, 0); }

 private:
  bool Selections(const std::vector<GraphqlSelection>& list, int parent, int depth) {
    return depth <= kMaxDepth && std::all_of(list.begin(), list.end(), [&](const GraphqlSelection& s) { return Selection(s, parent, depth); });
  }

  bool Selection(const GraphqlSelection& selection, int parent, int depth) {
    if (!DirectivesKnown(selection.directives)) return false;
    if (selection.kind == GraphqlSelection::Kind::kInline) return Selections(selection.selections, parent, depth + 1);
    if (selection.kind == GraphqlSelection::Kind::kSpread) return Spread(selection.name, parent, depth);
    if (out_->fields.size() >= kMaxFields) return false;
    const int index = static_cast<int>(out_->fields.size());
    model::SelectedField& field = out_->fields.emplace_back();
    field.parent = parent;
    field.key = selection.key;
    field.name = selection.name;
    std::vector<BodyField> arguments;
    for (const auto& [name, value] : selection.arguments) {
      if (!Append(name, value, &arguments)) return false;
    }
    out_->fields[static_cast<std::size_t>(index)].arguments = std::move(arguments);
    return Selections(selection.selections, index, depth + 1);
  }

  bool Spread(const std::string& name, int parent, int depth) {
    const auto found = std::find_if(document_.fragments.begin(), document_.fragments.end(), [&](const auto& f) { return f.name == name; });
    // A circle would go too deep; it is an error of its own kind, but no other answer.
    return found != document_.fragments.end() && found->directives.empty() && Selections(found->selections, parent, depth + 1);
  }

  bool DirectivesKnown(const std::vector<wire::GraphqlDirective>& directives) {
    for (const wire::GraphqlDirective& directive : directives) {
      if (directive.name != "include" && directive.name != "skip") return false;
      std::vector<BodyField> value;
      if (directive.arguments.size() != 1 || directive.arguments[0].name != "if" || !Append("if", directive.arguments[0].value, &value)) return false;
    }
    return true;
  }

  bool Append(const std::string& path, const GraphqlValue& value, std::vector<BodyField>* out) {
    if (value.kind == GraphqlValue::Kind::kVariable) return Variable(path, value.text, out);
    const bool text = value.kind == GraphqlValue::Kind::kNumber || value.kind == GraphqlValue::Kind::kString || value.kind == GraphqlValue::Kind::kEnum;
    if (!Push({path, KindOf(value.kind), text ? value.text : std::string()}, out)) return false;
    for (const auto& [name, item] : value.items) {
      if (!Append(base::StrCat(path, "/", name.empty() ? std::string_view("*") : std::string_view(name)), item, out)) return false;
    }
    return true;
  }

  bool Push(BodyField field, std::vector<BodyField>* out) {
    bytes_ += field.path.size() + field.text.size();
    if (++values_ > kMaxValues || bytes_ > kMaxBytes || field.path.size() > kMaxPath) return false;
    out->push_back(std::move(field));
    return true;
  }

  // A variable's value, its default, or nothing when it has neither: then the argument counts as absent.
  bool Variable(const std::string& path, const std::string& name, std::vector<BodyField>* out) {
    const auto declared = std::find_if(operation_.variables.begin(), operation_.variables.end(), [&](const auto& v) { return v.first == name; });
    if (declared == operation_.variables.end()) return false;
    const auto given = given_.find(name);
    if (given == given_.end()) return ++values_ <= kMaxValues && (!declared->second || Append(path, *declared->second, out));
    for (std::size_t i = given->second.first; i < given->second.second; ++i) {
      const BodyField& member = body_.members[i];
      if (!Push({path + member.path.substr(10 + name.size()), member.kind, member.text}, out)) return false;  // behind `variables/NAME`
    }
    return true;
  }

  const wire::GraphqlDocument& document_;
  const wire::GraphqlOperation& operation_;
  const BodyFacts& body_;
  GraphqlFacts* out_;
  std::map<std::string_view, std::pair<std::size_t, std::size_t>> given_;  // variable -> its members
  std::size_t values_ = 0, bytes_ = 0;
};

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadDocument, why); }

bool IsKnownMember(const BodyField& member) {
  return member.path == "query" || member.path == "operationName" || member.path == "variables" || member.path.starts_with("variables/");
}

}  // namespace

absl::StatusOr<GraphqlFacts> ReadOperation(const BodyFacts& body) {
  if (!std::all_of(body.members.begin(), body.members.end(), IsKnownMember)) return Bad("members beside query, variables, operationName");
  const BodyField* query = body.Find("query");
  const BodyField* name = body.Find("operationName");
  const BodyField* variables = body.Find("variables");
  if (query == nullptr || query->kind != Kind::kString) return Bad("no query");
  if (variables != nullptr && variables->kind != Kind::kObject && variables->kind != Kind::kNull) return Bad("variables");
  ASSIGN_OR_RETURN(const wire::GraphqlDocument document, wire::ParseGraphql(query->text, {}));
  if (document.operations.size() != 1) return Bad("not exactly one operation");
  const wire::GraphqlOperation& operation = document.operations.front();
  if (operation.type == wire::GraphqlOperation::Type::kSubscription || !operation.directives.empty()) return Bad("subscription or directive");
  if (name != nullptr && name->kind != Kind::kNull && (name->kind != Kind::kString || (!name->text.empty() && name->text != operation.name))) return Bad("operationName");
  GraphqlFacts out;
  out.mutation = operation.type == wire::GraphqlOperation::Type::kMutation;
  if (!Expander(document, operation, body, &out).Run()) return Bad("fragments, variables, directives or size");
  return out;
}

}  // namespace credbroker::forge
