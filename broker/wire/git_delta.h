#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace credbroker::wire {

// Applies a git delta (gitformat-pack, "Deltified representation") to `base`. False when the delta is malformed, is
// for a base of another size, or would give more than `max_bytes`. Replaces `out`.
//
//   delta := base size varint, result size varint, instruction*
//   instruction := 1ooossss offset size (copy from base) | 0nnnnnnn data (insert n bytes, n > 0)
bool ApplyGitDelta(std::string_view base, std::string_view delta, std::size_t max_bytes, std::string* out);

}  // namespace credbroker::wire
