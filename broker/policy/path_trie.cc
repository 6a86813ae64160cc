#include "policy/path_trie.h"

#include <algorithm>

namespace credbroker::policy {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The colon may be encoded.
bool NamesAnotherOwner(std::string_view rest) {
  return rest.find(':') != std::string_view::npos || rest.find("%3A") != std::string_view::npos ||
         rest.find("%3a") != std::string_view::npos;
}

// The part in front of `suffix`; empty when there is none.
std::string_view Before(std::string_view text, std::string_view suffix) {
  if (text.size() <= suffix.size() || !text.ends_with(suffix)) return {};
  return text.substr(0, text.size() - suffix.size());
}

}  // namespace

uint32_t PathTrie::Child(std::vector<Branch> Node::*kind, uint32_t node, std::string_view text) {
  for (const Branch& branch : nodes_[node].*kind) {
    if (branch.text == text) return branch.node;
  }
  const auto fresh = static_cast<uint32_t>(nodes_.size());
  (nodes_[node].*kind).push_back({text, fresh});
  nodes_.emplace_back();
  return fresh;
}

void PathTrie::Add(std::string_view method, std::string_view pattern, uint32_t value) {
  uint32_t node = 0;
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    const std::string_view part = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(part.size());
    if (part.ends_with("...}")) {
      nodes_[node].tails.push_back({pattern, method, value, part == "{basehead...}"});
      return;
    }
    const std::size_t close = part.find('}');
    if (!part.starts_with('{')) {
      node = Child(&Node::literals, node, part);
    } else {
      node = Child(part.starts_with("{n}") ? &Node::numbers : &Node::words, node, part.substr(close + 1));
    }
  }
  nodes_[node].leaves.push_back({method, value});
}

void PathTrie::Seal() {
  for (Node& node : nodes_) {
    std::sort(node.literals.begin(), node.literals.end(), [](const Branch& a, const Branch& b) { return a.text < b.text; });
    const auto longer = [](const auto& a, const auto& b) { return a.text.size() > b.text.size(); };
    std::stable_sort(node.numbers.begin(), node.numbers.end(), longer);
    std::stable_sort(node.words.begin(), node.words.end(), longer);
    std::stable_sort(node.tails.begin(), node.tails.end(),
                     [](const Tail& a, const Tail& b) { return a.after.size() > b.after.size(); });
  }
}

int PathTrie::Find(std::string_view method, std::string_view path) const {
  return path.ends_with('/') ? -1 : FindFrom(0, method, path);
}

// As deep as the patterns are, not as the path is.
int PathTrie::FindFrom(uint32_t index, std::string_view method, std::string_view path) const {
  const Node& node = nodes_[index];
  if (path.empty()) {
    const auto leaf = std::find_if(node.leaves.begin(), node.leaves.end(), [&](const Leaf& l) { return l.method == method; });
    return leaf == node.leaves.end() ? -1 : static_cast<int>(leaf->value);
  }
  const std::string_view segments = path.substr(1);
  const std::string_view part = segments.substr(0, segments.find('/'));
  const std::string_view rest = segments.substr(part.size());
  if (part.empty()) return -1;
  const auto literal = std::lower_bound(node.literals.begin(), node.literals.end(), part,
                                        [](const Branch& b, std::string_view text) { return b.text < text; });
  if (literal != node.literals.end() && literal->text == part) {
    if (const int found = FindFrom(literal->node, method, rest); found >= 0) return found;
  }
  for (const Branch& branch : node.numbers) {
    if (!IsNumber(Before(part, branch.text))) continue;
    if (const int found = FindFrom(branch.node, method, rest); found >= 0) return found;
  }
  for (const Branch& branch : node.words) {
    if (Before(part, branch.text).empty()) continue;
    if (const int found = FindFrom(branch.node, method, rest); found >= 0) return found;
  }
  for (const Tail& tail : node.tails) {
    if (tail.method != method || Before(segments, tail.after).empty()) continue;
    if (tail.no_colon && NamesAnotherOwner(segments)) continue;
    return static_cast<int>(tail.value);
  }
  return -1;
}

}  // namespace credbroker::policy
