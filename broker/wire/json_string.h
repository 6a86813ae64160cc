#pragma once

#include <string>
#include <string_view>

namespace credbroker::wire {

// Reads a string in double quotes at `*at`, as JSON and GraphQL write it: escapes \" \\ \/ \b \f \n \r \t \uXXXX (surrogates in
// pairs only), no raw control characters, valid UTF-8, no NUL. Appends the decoded text and moves `*at` behind the closing quote.
bool ReadQuoted(std::string_view text, std::size_t* at, std::string* out);

}  // namespace credbroker::wire
