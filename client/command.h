#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/broker.h"
#include "client/command_line.h"
#include "client/json.h"
#include "client/settings.h"

namespace CLI {
class App;
}
namespace google::protobuf {
class Duration;
class Timestamp;
}  // namespace google::protobuf

namespace credbroker::client {

// What an action works with: the outside, the settings, and the broker, to which the first use opens a channel.
class Context {
 public:
  Context(Host& host, Settings settings) : host_(host), settings_(std::move(settings)) {}

  Host& host() { return host_; }
  const Settings& settings() const { return settings_; }
  bool json() const { return settings_.output == Output::kJson; }
  Broker& broker();

  // The holder's token. Fails kNoToken.
  absl::StatusOr<std::string> Token() const;

  // Standard output: results alone.
  void Print(std::string_view text);
  void PrintJson(const Json& json);
  // Standard error: everything else, one escaped line.
  void Note(std::string_view text);

 private:
  Host& host_;
  Settings settings_;
  std::unique_ptr<Broker> broker_;
};

// What a sub-command does once its arguments are read. The number is the exit code; a failed status is exit code 1.
using Action = std::function<absl::StatusOr<int>(Context&)>;
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

// Prints `error CODE name: text` and `next: step`.
void PrintError(const absl::Status& status, std::ostream& err);

// A sub-command that acts. `help` says what it does in one line, `example` is a command that works, `next` says where
// to go on, `more` what one should know besides.
struct Words {
  std::string_view help, example, next, more = {};
};
CLI::App* AddLeaf(CLI::App& parent, const char* name, const Words& words);
// A sub-command that only holds others.
CLI::App* AddGroup(CLI::App& parent, const char* name, const Words& words);
// Makes `action` the one that runs when `leaf` was given. `chosen` outlives the parse.
void OnChosen(CLI::App* leaf, Action& chosen, Action action);
// A list of values, given by repeating the option.
void AddRepeated(CLI::App* leaf, const char* name, std::vector<std::string>& values, const char* help);

// `15m` into a request's field; an empty text leaves it unset. Fails kBadDuration.
absl::Status SetDuration(std::string_view text, google::protobuf::Duration* duration);
google::protobuf::Timestamp ToTimestamp(absl::Time time);
// `2026-11-30 22:43:11Z`, for tables; `-` for null.
std::string TimeCell(const Json& time);
// A text member for a table, empty when absent; numbers and booleans as they are written.
std::string TextCell(const Json& object, const char* name);
// The texts of a list member, joined.
std::string ListCell(const Json& object, const char* name);

// The sub-commands. Each adds its own to `app` and puts what was asked for into `chosen`.
void AddStatusCommand(CLI::App& app, Action& chosen);
void AddPolicyCommands(CLI::App& app, Action& chosen);  // apply, policy
void AddExceptionCommands(CLI::App& app, Action& chosen);
void AddEvidenceCommands(CLI::App& app, Action& chosen);
void AddPilotCommand(CLI::App& app, Action& chosen);
void AddDoctorCommand(CLI::App& app, Action& chosen);
void AddExplainCommand(CLI::App& policy, Action& chosen);
void AddSimulateCommand(CLI::App& policy, Action& chosen);
void AddWhyCommand(CLI::App& parent, Action& chosen);  // policy why, audit why
// `policy history --scope NAME`: what changed for one scope, and who did it. Fails kScopeNotFound.
absl::StatusOr<int> ScopeHistory(Context& context, const std::string& scope);
void AddSecretCommands(CLI::App& app, Action& chosen);
void AddSessionCommands(CLI::App& app, Action& chosen);
void AddTokenCommands(CLI::App& app, Action& chosen);
void AddEnvCommand(CLI::App& app, Action& chosen);
// `command`: what stood behind `--`.
void AddRunCommand(CLI::App& app, Action& chosen, const std::vector<std::string>& command);
void AddForwardCommand(CLI::App& app, Action& chosen, const std::vector<std::string>& command);
void AddGitCredentialCommand(CLI::App& app, Action& chosen);
void AddAuditCommands(CLI::App& app, Action& chosen);
void AddIncidentCommand(CLI::App& audit, Action& chosen);
void AddExportCommand(CLI::App& audit, Action& chosen);
void AddLedgerCommands(CLI::App& audit, Action& chosen);  // audit verify, prove, checkpoint

}  // namespace credbroker::client
