#pragma once

#include <string>
#include <string_view>

namespace credbroker::base {

// A file name as the most careless file system would compare it: ASCII letters and their look-alikes (U+017F, U+212A) in
// lower case, without the characters that HFS+ ignores, without the dots and spaces at the end that Windows drops, and
// without a stream's name behind a colon. For rules that protect names: what folds alike is protected alike.
std::string FoldFileName(std::string_view name);

}  // namespace credbroker::base
