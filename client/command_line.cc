#include "client/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "client/command.h"
#include "credbroker/credbroker.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr char kAbout[] =
    "Credbroker keeps real credentials out of sandboxes: a session holds a short-lived, narrow token, and the edge "
    "swaps it for the credential on the way out.";

constexpr char kFooter[] =
    R"(Start here:
  in a sandbox   credbroker token whoami          what may I do?
                 credbroker run -- git clone https://git.example/acme/web
  admin          credbroker apply -f policy.yaml --dry-run
                 credbroker secret put NAME < FILE
                 credbroker session open --requester R --scope S
  reviewer       credbroker audit list --session S
                 credbroker audit verify
  operator       credbroker status

Exit codes: 0 done; 1 refused or failed, with a catalogue code and the next step on standard error; 2 usage.
Next: `credbroker COMMAND --help` teaches each command with an example.)";

void AddGlobalFlags(CLI::App& app, Flags& flags) {
  app.add_option("--output", flags.output, "table for people, json for programs")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_option("--address", flags.address, "the broker: unix:PATH or HOST:PORT (CREDBROKER_ADDRESS)");
  app.add_option("--data-dir", flags.data_dir, "the broker's data folder: short for --address unix:DIR/run/api.sock");
  app.add_option("--access", flags.access, "a remote admin's access file (CREDBROKER_ACCESS)");
  app.add_option("--api-ca", flags.api_ca, "PEM file with the CA of the API at HOST:PORT (CREDBROKER_API_CA)");
  app.add_option("--token", flags.token, "the holder's token (better: CREDBROKER_TOKEN, which `ps` does not show)");
}

void AddCommands(CLI::App& app, Action& chosen, const std::vector<std::string>& command) {
  AddStatusCommand(app, chosen);
  AddPolicyCommands(app, chosen);
  AddExceptionCommands(app, chosen);
  AddSecretCommands(app, chosen);
  AddSessionCommands(app, chosen);
  AddTokenCommands(app, chosen);
  AddEnvCommand(app, chosen);
  AddRunCommand(app, chosen, command);
  AddForwardCommand(app, chosen, command);
  AddGitCredentialCommand(app, chosen);
  AddAuditCommands(app, chosen);
  AddEvidenceCommands(app, chosen);
  AddPilotCommand(app, chosen);
  AddDoctorCommand(app, chosen);
}

int Act(const Flags& flags, const Action& chosen, Host& host) {
  const auto settings = ResolveSettings(flags, host.environment);
  if (!settings.ok()) {
    PrintError(settings.status(), host.err);
    return kFailed;
  }
  Context context(host, *settings);
  const absl::StatusOr<int> code = chosen(context);
  host.out.flush();
  if (!code.ok()) {
    PrintError(code.status(), host.err);
    return kFailed;
  }
  if (!host.out.good()) {
    PrintError(base::Error(base::ErrorCode::kFileUnwritable, "standard output"), host.err);
    return kFailed;
  }
  return *code;
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments, Host& host) {
  // What follows `--` belongs to the command of `run` or `forward`, whatever it looks like.
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> command(mark == arguments.end() ? mark : mark + 1, arguments.end());
  std::vector<std::string> own(arguments.begin(), mark);
  std::reverse(own.begin(), own.end());  // as CLI11 takes them

  CLI::App app(kAbout, "credbroker");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("credbroker ") + CREDBROKER_VERSION);
  app.fallthrough();  // the global flags may stand behind the sub-command
  app.require_subcommand(1);
  Flags flags;
  Action chosen;
  AddGlobalFlags(app, flags);
  AddCommands(app, chosen, command);
  try {
    app.parse(std::move(own));
    if (!command.empty() && !app.got_subcommand("run") && !app.got_subcommand("forward")) throw CLI::ExtrasError(command);
  } catch (const CLI::Success& help) {
    return app.exit(help, host.out, host.err);
  } catch (const CLI::ParseError& error) {
    app.exit(error, host.out, host.err);
    return kUsage;
  }
  return Act(flags, chosen, host);
}

}  // namespace credbroker::client
