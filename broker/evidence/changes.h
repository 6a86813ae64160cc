#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace credbroker::evidence {

// One difference between two packs (S30, S46).
struct Change {
  std::string id;        // S7, or `version`, `policy`
  std::string material;  // `isolation`, `retention`, `network defaults`; empty: not of these
  std::string question, before, after;
};

// What differs between two packs as JSON (answers.h, ToJson): material changes first. When it was made is no difference.
// Fails kBadArgument for a text that is no pack.
absl::StatusOr<std::vector<Change>> Compare(std::string_view before, std::string_view after);

}  // namespace credbroker::evidence
