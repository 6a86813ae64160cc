#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "policy/yaml.h"

namespace credbroker::policy {

// What is wrong with a policy, as `FILE:LINE:COLUMN: what; hint`, the first ten.
class Problems {
 public:
  void Add(const YamlNode& at, std::string_view what, std::string_view hint = {});
  void Warn(const YamlNode& at, std::string_view what);
  void AddText(std::string line);
  bool empty() const { return errors_.empty(); }
  absl::Status ToStatus() const;  // kPolicyInvalid, or OK
  std::vector<std::string> TakeWarnings() { return std::move(warnings_); }

 private:
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
  int dropped_ = 0;
};

// ` did you mean "x"?` for the nearest word, or all of them when none is near.
std::string NearestHint(std::string_view word, const std::vector<std::string_view>& known);

// Typed reading of a map. The constructor reports a node that is not a map, and every key that is not in `keys`. Each
// reader reports what does not fit and returns its fallback, so that one run shows many problems. The node and the
// problems outlive it.
class MapReader {
 public:
  MapReader(const YamlNode& node, std::string_view what, std::vector<std::string_view> keys, Problems* problems);

  const YamlNode& node() const { return node_; }
  const YamlNode* Find(std::string_view key) const;  // null also for an empty value
  const YamlNode* Need(std::string_view key) const;  // reports a missing or empty one

  std::optional<std::string> Text(std::string_view key) const;  // absent: nullopt
  std::string NeedText(std::string_view key) const;
  std::string Name(std::string_view key) const;           // required; as IsName
  bool Allow(std::string_view key, bool fallback) const;  // allow|deny
  bool Bool(std::string_view key, bool fallback) const;   // true|false
  int64_t Number(std::string_view key, int64_t fallback, int64_t min, int64_t max) const;
  absl::Duration Duration(std::string_view key, absl::Duration fallback, absl::Duration max) const;
  // A list of texts; absent gives an empty one. A list without entries is reported where absence means "all": it reads
  // like "nothing" there.
  enum class Empty { kRefused, kFine };
  std::vector<const YamlNode*> Texts(std::string_view key, Empty empty = Empty::kRefused) const;
  std::vector<const YamlNode*> List(std::string_view key) const;  // of anything

 private:
  const YamlNode& node_;
  std::string what_;
  Problems* problems_;
};

// Lower case letters, digits, dot, dash, underscore; 1 to 64; starts with a letter or digit.
bool IsName(std::string_view text);

}  // namespace credbroker::policy
