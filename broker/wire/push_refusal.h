#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wire/receive_pack.h"

namespace credbroker::wire {

// The body of a 200 answer (application/x-git-receive-pack-result) that refuses a whole push so that git prints why:
// `message` as `remote:` lines, and a report that unpacking was fine and each ref was refused. Read the request's body
// to its end before sending it, or git reports a broken pipe instead.
//
// `reasons` holds one short line per command in order; a missing or empty one reads `refused with the rest of the
// push`. Control bytes in texts become spaces. Follows what the client asked for: without side-band-64k no message,
// without report-status no report.
std::string RefusalReport(const PushRequest& request, std::string_view message, std::span<const std::string> reasons);

// The text/plain body that git prints as `remote:` lines when discovery answers 403 or 404.
std::string DiscoveryRefusal(std::string_view message);

}  // namespace credbroker::wire
