#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "wire/parse_result.h"

namespace credbroker::wire {

enum class GitVersion { kV0, kV1, kV2 };

// The version that a server reads out of the Git-Protocol field (`version=2`, keys split by colons; the highest of
// several; empty or without version is kV0). kBadGitRequest for an unknown version or bytes that no client sends.
absl::StatusOr<GitVersion> ParseGitProtocol(std::string_view value);

enum class UploadCommand {
  kLsRefs,      // v2: list refs
  kFetch,       // v2 fetch, or v0/v1 want lines
  kObjectInfo,  // v2: sizes of objects; a read
  kNothing,     // v0/v1: a flush alone
};

// Reads the start of a git-upload-pack request body, enough to know the command: in v2 the packets up to the first
// delimiter or flush, in v0 and v1 the first one. All of these read; the rest of the body may be streamed.
// kGitNotSupported for bundle-uri and every other command; kBadGitRequest for broken framing, two commands, or a body
// in another version than `version`. At most 64 packets and 64 KiB of them. `consumed` counts the packets read, which
// must be sent on as well.
ParseResult ParseUploadPack(std::string_view body, GitVersion version, EndOfBody end, UploadCommand* out);

}  // namespace credbroker::wire
