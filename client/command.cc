#include "client/command.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <CLI/CLI.hpp>
#include <ostream>
#include <sstream>

#include "base/duration.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "client/table.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr std::size_t kMaxMessageLine = 2048;

std::string Footer(const Words& words) {
  return base::StrCat(words.more, words.more.empty() ? "" : "\n\n", "Example:\n  ", words.example,
                      "\n\nNext: ", words.next);
}

}  // namespace

Broker& Context::broker() {
  if (!broker_) broker_ = std::make_unique<Broker>(settings_);
  return *broker_;
}

absl::StatusOr<std::string> Context::Token() const {
  if (settings_.token.empty()) return base::Error(base::ErrorCode::kNoToken, "set CREDBROKER_TOKEN or give --token");
  return settings_.token;
}

void Context::Print(std::string_view text) { host_.out << text; }
void Context::PrintJson(const Json& json) { host_.out << PrettyJson(json) << '\n'; }
void Context::Note(std::string_view text) { host_.err << base::EscapeText(text, kMaxMessageLine) << '\n'; }

void PrintError(const absl::Status& status, std::ostream& err) {
  const base::ErrorEntry& entry = base::Lookup(base::CodeOf(status));
  err << "error " << static_cast<int>(entry.code) << ' ' << entry.name << ": ";
  std::istringstream lines{std::string(status.message())};
  std::string line;
  for (bool first = true; std::getline(lines, line); first = false) {
    err << (first ? "" : "  ") << base::EscapeText(line, kMaxMessageLine) << '\n';
  }
  err << "next: " << entry.next_step << '\n';
}

CLI::App* AddLeaf(CLI::App& parent, const char* name, const Words& words) {
  CLI::App* leaf = parent.add_subcommand(name, std::string(words.help));
  leaf->footer(Footer(words));
  return leaf;
}

CLI::App* AddGroup(CLI::App& parent, const char* name, const Words& words) {
  CLI::App* group = AddLeaf(parent, name, words);
  group->require_subcommand(1);
  return group;
}

void OnChosen(CLI::App* leaf, Action& chosen, Action action) {
  leaf->callback([&chosen, action = std::move(action)] { chosen = action; });
}

void AddRepeated(CLI::App* leaf, const char* name, std::vector<std::string>& values, const char* help) {
  leaf->add_option(name, values, help)->allow_extra_args(false)->take_all();
}

absl::Status SetDuration(std::string_view text, google::protobuf::Duration* duration) {
  ASSIGN_OR_RETURN(const absl::Duration read, base::ParseDuration(text), base::StrCat("reading ", text));
  duration->set_seconds(absl::ToInt64Seconds(read));
  duration->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(read % absl::Seconds(1))));
  return absl::OkStatus();
}

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp stamp;
  const int64_t seconds = absl::ToUnixSeconds(time);
  stamp.set_seconds(seconds);
  stamp.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return stamp;
}

std::string TimeCell(const Json& time) {
  if (!time.is_string()) return "-";
  std::string text = time.get<std::string>();
  if (text.size() < 20 || text[10] != 'T') return text;
  text[10] = ' ';
  return text.substr(0, 19) + 'Z';
}

std::string TextCell(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : LineJson(*found);
}

std::string ListCell(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return {};
  std::vector<std::string> texts;
  for (const Json& element : *found)
    texts.push_back(element.is_string() ? element.get<std::string>() : LineJson(element));
  return Joined(texts);
}

}  // namespace credbroker::client
