#include "policy/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <set>
#include <sstream>

#include "base/str.h"
#include "base/text.h"

namespace credbroker::policy {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr int kMaxNodes = 500'000;

// Thrown through the parser, whose interface has no other way to stop; caught in ParseYaml.
struct Refused {
  YamlProblem problem;
};

[[noreturn]] void Refuse(const YAML::Mark& mark, std::string what) {
  throw Refused{{mark.line + 1, mark.column + 1, std::move(what)}};
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view file, YamlNode* root) : file_(file), root_(root) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) Refuse(mark, "a second document in one file; write one document per file");
  }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { Refuse(mark, kNoAnchors); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Refuse(mark, kNoAnchors); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(Make(YamlNode::Kind::kNull, mark, "", anchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = Make(YamlNode::Kind::kScalar, mark, tag, anchor);
    node.text = value;
    // Plain (unquoted) spellings of null; quoted ones are texts.
    if (tag != "!" && (value == "~" || value == "null")) node.kind = YamlNode::Kind::kNull;
    Add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(Make(YamlNode::Kind::kList, mark, tag, anchor));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(Make(YamlNode::Kind::kMap, mark, tag, anchor));
  }
  void OnMapEnd() override { Close(); }

 private:
  static constexpr const char* kNoAnchors = "anchors and aliases are not allowed; write the value out";

  struct Level {
    YamlNode node;
    bool has_key = false;
    YamlNode key;
    std::set<std::string, std::less<>> keys;
  };

  YamlNode Make(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) Refuse(mark, kNoAnchors);
    if (!tag.empty() && tag != "?" && tag != "!") Refuse(mark, "tags are not allowed; write the value without `!`");
    if (++nodes_ > kMaxNodes) Refuse(mark, "more than 500000 values in one file");
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    node.file = file_;
    return node;
  }

  void Open(YamlNode node) {
    if (levels_.size() >= kMaxDepth) throw Refused{{node.line, node.column, "more than 16 levels of nesting"}};
    levels_.emplace_back();
    levels_.back().node = std::move(node);
  }

  void Close() {
    YamlNode node = std::move(levels_.back().node);
    levels_.pop_back();
    Add(std::move(node));
  }

  void Add(YamlNode node) {
    if (levels_.empty()) {
      *root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == YamlNode::Kind::kList) {
      level.node.items.push_back(std::move(node));
    } else if (level.has_key) {
      level.node.members.push_back({std::move(level.key), std::move(node)});
      level.has_key = false;
    } else {
      TakeKey(&level, std::move(node));
    }
  }

  static void TakeKey(Level* level, YamlNode node) {
    const auto refuse = [&](std::string what) { throw Refused{{node.line, node.column, std::move(what)}}; };
    if (node.kind != YamlNode::Kind::kScalar) refuse("a key must be a text");
    if (node.text == "<<") refuse("merge keys are not allowed; write the members out");
    if (!level->keys.insert(node.text).second) {
      refuse(base::StrCat("the key `", base::EscapeText(node.text, 64), "` stands twice; remove one"));
    }
    level->key = std::move(node);
    level->has_key = true;
  }

  std::string_view file_;
  YamlNode* root_;
  int documents_ = 0;
  int nodes_ = 0;
  std::vector<Level> levels_;
};

}  // namespace

YamlNode::YamlNode() = default;
YamlNode::YamlNode(YamlNode&&) noexcept = default;
YamlNode& YamlNode::operator=(YamlNode&&) noexcept = default;
YamlNode::~YamlNode() = default;

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name.text == key) return &value;
  }
  return nullptr;
}

std::string_view KindName(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "a text";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "nothing";
}

bool ParseYaml(std::string_view file, std::string_view text, YamlNode* root, YamlProblem* problem) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(file, root);
    while (parser.HandleNextDocument(builder)) {
    }
    return true;
  } catch (const Refused& refused) {
    *problem = refused.problem;
  } catch (const YAML::Exception& exception) {
    *problem = {exception.mark.line + 1, exception.mark.column + 1, base::StrCat("not YAML: ", exception.msg)};
  } catch (const std::exception&) {
    *problem = {1, 1, "not YAML"};
  }
  return false;
}

}  // namespace credbroker::policy
