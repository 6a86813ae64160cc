#pragma once

#include <string_view>

namespace credbroker::token {

// A placeholder looks like a provider's key, so that tools which insist on one start; it opens nothing anywhere.
//
//   github      ghp_ + 36     openai      sk-proj- + 48   anthropic  sk-ant-api03- + 93 + AA
//   aws_key_id  AKIA + 16     aws_secret  40              generic    cbp_ + 36
//
// The variable part is marker, seed, checksum: the marker `credbroker` (`CREDBR` in an AWS key id) shows a reader
// what it is; the checksum, BLAKE2b over prefix, marker and seed, shows a program.
enum class PlaceholderKind { kGithub, kOpenai, kAnthropic, kAwsKeyId, kAwsSecret, kGeneric };

// True when the text is a placeholder of any kind. A stranger can make one as well: it proves nothing and grants
// nothing; it only tells a stand-in from somebody's real key. Thread-safe.
bool IsPlaceholder(std::string_view text);

}  // namespace credbroker::token
