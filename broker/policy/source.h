#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace credbroker::policy {

inline constexpr std::size_t kMaxSourceFile = 1 << 20;  // bytes of one document or attachment
inline constexpr std::size_t kMaxSource = 4 << 20;      // bytes of a whole source

// A file as an admin wrote it. `name` is what errors show; an attachment's is the text that the policy names it by.
struct SourceFile {
  std::string name;
  std::string text;
  bool operator==(const SourceFile&) const = default;
};

// A policy before it is loaded: its YAML documents, and the PEM files that `upstream_ca` entries name.
struct PolicySource {
  std::vector<SourceFile> documents;
  std::vector<SourceFile> attachments;
  bool operator==(const PolicySource&) const = default;
};

// Reads a document, or every *.yaml and *.yml of a folder (not below it) sorted by name, and the attachments that they
// name, relative to the document. Documents are named by their last path component. Does I/O, blocks.
// Fails kFileUnreadable, kTooLarge (limits above), kPolicyInvalid (nothing to read, not UTF-8, YAML that does not
// parse).
absl::StatusOr<PolicySource> ReadPolicySource(const std::string& path);

// The one canonical text of a source: JSON with sorted keys, no spaces. It is what is stored, digested and pushed to
// edges. Bytes that are not UTF-8 become U+FFFD (ReadPolicySource and RuleSet::Load refuse such documents).
std::string Serialize(const PolicySource& source);

// Reads what Serialize wrote. Fails kPolicyInvalid for anything that Serialize would not have written so, kTooLarge.
absl::StatusOr<PolicySource> Parse(std::string_view text);

}  // namespace credbroker::policy
