#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/json.h"
#include "client/table.h"

namespace credbroker::client {

// A canonical record line as the command line prints it: the promised members first and always there (null, or [] for
// refs, when the record has none), then what else the record holds, in its order. A line that is no record becomes
// {"unreadable": the line}. Pure, thread-safe.
Json RecordJson(std::string_view line);

// Records for people, 120 columns: time, kind, who, what, which rule or reason decided, status.
Table RecordTable();
std::vector<std::string> RecordRow(const Json& record);

}  // namespace credbroker::client
