#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace credbroker::policy {

struct YamlMember;

// One node of a YAML document with its place. Scalars stay text: what they mean is the reader's business.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  int line = 1;           // from 1
  int column = 1;         // from 1
  std::string_view file;  // the source file's name; lives as long as the PolicySource
  std::string text;
  std::vector<YamlNode> items;      // kList
  std::vector<YamlMember> members;  // kMap, keys are scalars, each once

  // Out of line: a member is not complete here.
  YamlNode();
  YamlNode(YamlNode&&) noexcept;
  YamlNode& operator=(YamlNode&&) noexcept;
  ~YamlNode();

  const YamlNode* Find(std::string_view key) const;
};

struct YamlMember {
  YamlNode key;
  YamlNode value;
};

std::string_view KindName(YamlNode::Kind kind);  // "nothing", "a text", "a list", "a map"

// The first problem of a text, with its place.
struct YamlProblem {
  int line = 1;
  int column = 1;
  std::string what;
};

// Reads one YAML document. Refused: anchors, aliases, merge keys, tags, keys that are not plain texts or stand twice,
// a second document, more than 16 levels or 500,000 nodes. Returns false with `problem` filled in.
bool ParseYaml(std::string_view file, std::string_view text, YamlNode* root, YamlProblem* problem);

}  // namespace credbroker::policy
