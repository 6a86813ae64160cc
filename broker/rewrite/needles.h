#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace credbroker::rewrite {

// Private to ScrubSet: the texts under which a secret can come back. Each at least kMinNeedleBytes long, no order,
// repeats possible. The caller wipes them.
inline constexpr std::size_t kMinNeedleBytes = 4;
void AppendNeedles(std::string_view secret, std::string_view basic_username, std::vector<std::string>* out);

}  // namespace credbroker::rewrite
