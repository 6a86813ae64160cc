#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace credbroker::evidence {

// A file of a bundle.
struct Part {
  std::string name;  // `answers.json`: [a-z0-9._-], at most 99 characters
  std::string content;
  bool operator==(const Part&) const = default;
};

// The parts as a tar file (POSIX ustar) in their order, without times, owners or padding that could differ: the same parts
// give the same bytes. Every tar reads it.
std::string PackTar(const std::vector<Part>& parts);

// The parts of a file that PackTar wrote; nothing else is read: no folders, links, long names, doubled names. Fails
// kBundleInvalid. Limits: 64 MiB, 1,000 parts.
absl::StatusOr<std::vector<Part>> UnpackTar(std::string_view bytes);

}  // namespace credbroker::evidence
