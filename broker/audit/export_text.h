#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

// Private to the exports: a record's members as texts that every format can carry.
namespace credbroker::audit {

// `text` on one line, harmless on a terminal, at most about `max_bytes`. The ledger has escaped it once already, and its
// backslashes stay as they are; an archive of an edge that was taken over may hold anything.
std::string SafeText(std::string_view text, std::size_t max_bytes);

// A member as text: numbers as they are written, lists joined, refs as `create refs/heads/x`. Empty when absent.
std::string MemberText(const nlohmann::json& record, const char* name);
std::string ValueText(const nlohmann::json& value);

// What happened, in one line: `deny no_rule: GET api.forge.example/repos/acme/web`.
std::string EventWords(const nlohmann::json& record);

std::string FormatOcsf(const nlohmann::json& record, std::string_view version);

}  // namespace credbroker::audit
