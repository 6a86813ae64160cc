#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace credbroker::control {

enum class Level { kInfo, kWarning, kError };

// One line of the process log: an event name and fields, as a JSON object. Values may be hostile: they are escaped and
// cut to 512 bytes. Never give it a secret or a token's text. Thread-safe.
void LogEvent(Level level, std::string_view event,
              std::initializer_list<std::pair<std::string_view, std::string>> fields = {});

}  // namespace credbroker::control
