#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace credbroker::policy {

// Patterns of paths as a tree of segments. `{x}` takes one segment, `{n}` a number, each with an optional literal behind
// it (`{n}.diff`); `{x...}` takes one or more segments, with literal segments behind it or none; `{basehead...}` does, too,
// but no colon (`compare` takes `owner:branch` and so reaches forks). Fill, Seal, then only Find; Find allocates nothing.
class PathTrie {
 public:
  // `pattern` is empty or begins with `/`; its text outlives the trie.
  void Add(std::string_view method, std::string_view pattern, uint32_t value);
  void Seal();
  // The value of the most specific pattern that takes method and path, or -1. At each segment a literal goes before a
  // number, a number before any word, and all of them before a spanning part; of those the one with more behind it first.
  int Find(std::string_view method, std::string_view path) const;

 private:
  struct Leaf {
    std::string_view method;
    uint32_t value;
  };
  struct Branch {
    std::string_view text;  // the literal, or what stands behind the parameter
    uint32_t node;
  };
  struct Tail {
    std::string_view after;  // with its slash, or empty
    std::string_view method;
    uint32_t value;
    bool no_colon;
  };
  struct Node {
    std::vector<Branch> literals;  // sorted
    std::vector<Branch> numbers, words;
    std::vector<Leaf> leaves;
    std::vector<Tail> tails;  // longest first
  };
  uint32_t Child(std::vector<Branch> Node::*kind, uint32_t node, std::string_view text);
  int FindFrom(uint32_t node, std::string_view method, std::string_view path) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace credbroker::policy
