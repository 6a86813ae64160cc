#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace credbroker::model {

// One member of a JSON body, or one argument of a GraphQL field: where it stands and what it is. Objects and arrays have an
// entry of their own in front of what they hold.
struct BodyField {
  enum class Kind { kString, kNumber, kTrue, kFalse, kNull, kObject, kArray };
  std::string path;  // `input/labelIds/*`: names joined, `*` for elements; empty for the whole
  Kind kind = Kind::kNull;
  std::string text;  // of strings (decoded) and numbers
};

// One field that a GraphQL operation selects, fragments in place, parents first.
struct SelectedField {
  int parent = -1;   // index, or -1 for a root field
  std::string key;   // its name in the answer
  std::string name;
  std::vector<BodyField> arguments;  // variables filled in
};

// One GraphQL operation as it would run.
struct GraphqlFacts {
  bool mutation = false;
  std::vector<SelectedField> fields;
  // Node ids among the arguments that are known to belong to a repository (`acme/web`, lower case) of the service.
  std::map<std::string, std::string, std::less<>> nodes;
};

// What a request's body says, where its effect depends on it.
struct BodyFacts {
  std::vector<BodyField> members;  // of a JSON object; empty for GraphQL
  bool graphql = false;
  GraphqlFacts operation;

  const BodyField* Find(std::string_view path) const {
    for (const BodyField& field : members) {
      if (field.path == path) return &field;
    }
    return nullptr;
  }
};

}  // namespace credbroker::model
