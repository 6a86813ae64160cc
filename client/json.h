#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"

namespace google::protobuf {
class Message;
}

namespace credbroker::client {

// JSON as the command line prints it: members keep their order.
using Json = nlohmann::ordered_json;

// A message as JSON: field names as in the .proto file, every field present. Times are RFC 3339 in UTC, durations like
// `15m`, messages that are not set null, bytes base64. Numbers of 64 bits are JSON numbers.
Json ToJson(const google::protobuf::Message& message);

// For people and pipes: two spaces a level. Only ASCII comes out, so that no text of a stranger reaches a terminal as
// anything but text; what is not UTF-8 becomes U+FFFD.
std::string PrettyJson(const Json& json);
// The same on one line, for JSON lines.
std::string LineJson(const Json& json);

}  // namespace credbroker::client
