#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace credbroker::wire {

// An executable GraphQL document (October 2021 edition) as a tree.
struct GraphqlMember;
struct GraphqlValue {
  enum class Kind { kVariable, kNumber, kString, kEnum, kTrue, kFalse, kNull, kList, kObject };
  Kind kind = Kind::kNull;
  std::string text;  // name of a variable or enum value, number as written, string decoded
  std::vector<GraphqlMember> items;  // members of an object, elements of a list (without names)
};
struct GraphqlMember {
  std::string name;
  GraphqlValue value;
};
using GraphqlArguments = std::vector<GraphqlMember>;

struct GraphqlDirective {
  std::string name;
  GraphqlArguments arguments;
};

struct GraphqlSelection {
  enum class Kind { kField, kSpread, kInline };
  Kind kind = Kind::kField;
  std::string key;   // of a field: its alias, or its name
  std::string name;  // of the field, or of the fragment that is spread
  GraphqlArguments arguments;
  std::vector<GraphqlDirective> directives;
  std::vector<GraphqlSelection> selections;
};

struct GraphqlOperation {
  enum class Type { kQuery, kMutation, kSubscription };
  Type type = Type::kQuery;
  std::string name;
  std::vector<std::pair<std::string, std::optional<GraphqlValue>>> variables;  // with defaults
  std::vector<GraphqlDirective> directives;
  std::vector<GraphqlSelection> selections;
};

struct GraphqlFragment {
  std::string name;
  std::vector<GraphqlDirective> directives;
  std::vector<GraphqlSelection> selections;
};

struct GraphqlDocument {
  std::vector<GraphqlOperation> operations;
  std::vector<GraphqlFragment> fragments;
};

struct GraphqlLimits {
  std::size_t max_bytes = 256 * 1024;
  std::size_t max_tokens = 20'000;
  std::size_t max_definitions = 100;  // operations and fragments
  int max_depth = 32;                 // of selections, and of values
};

// Parses a whole document. Refused beside what the grammar refuses: names that stand twice (arguments of one field, members of
// one object, variables, fragments, operations), block strings, non-ASCII outside of strings and comments, the schema language.
// Fails kBadDocument.
absl::StatusOr<GraphqlDocument> ParseGraphql(std::string_view text, const GraphqlLimits& limits);

}  // namespace credbroker::wire
