#include <CLI/CLI.hpp>
#include <ostream>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/environment.h"
#include "client/holder.h"
#include "client/subprocess.h"
#include "client/token_source.h"
#include "credbroker/v1/session.pb.h"
#include "credbroker/v1/token.pb.h"

namespace credbroker::client {
namespace {

constexpr char kMore[] =
    "The token comes from CREDBROKER_TOKEN or --token, or is minted for --session, or belongs to a session of this "
    "run's\n"
    "own (--requester and --scope), which closes when the command ends. The exit code is the command's.\n\n"
    "The command gets what `credbroker env` prints. Variables that hold or lead to a credential are taken away or "
    "replaced\n"
    "by placeholders: names that end in _TOKEN, _API_KEY, _SECRET, _PASSWORD, _ACCESS_KEY, _CREDENTIALS, _PRIVATE_KEY "
    "and\n"
    "the like, SSH_AUTH_SOCK, GIT_ASKPASS, KUBECONFIG, DOCKER_CONFIG, AWS_PROFILE and other ways to a login, and\n"
    "CREDBROKER_ACCESS. --keep-env leaves one as it is.";

struct RunOptions {
  SessionOptions opened;  // a session of this run's own
  std::string session;    // or one that is open
  std::vector<std::string> keep;
  std::string ca_out;
};

absl::StatusOr<Environment> MakeChild(Context& context, const RunOptions& options, const std::string& token) {
  ASSIGN_OR_RETURN(const Variables variables, VariablesFor(context, token, options.ca_out));
  return ChildEnvironment(context.host().environment, variables, options.keep);
}

absl::StatusOr<std::string> TokenOfSession(Context& context, const RunOptions& options) {
  v1::MintTokenReply reply;
  RETURN_IF_ERROR(
      MintToken(context, options.session, {.ttl = options.opened.ttl, .label = options.opened.label}, &reply));
  return reply.token().text();
}

absl::StatusOr<int> RunUnderToken(Context& context, const RunOptions& options, const std::string& token,
                                  const std::vector<std::string>& command) {
  ASSIGN_OR_RETURN(const Environment child, MakeChild(context, options, token));
  context.host().out.flush();
  return ReplaceProcess(command, child);
}

// The session ends with the command, however that ends.
void CloseSession(Context& context, const std::string& session) {
  v1::CloseSessionRequest request;
  v1::CloseSessionReply reply;
  request.set_id(session);
  request.set_reason("the command of `run` ended");
  if (const absl::Status closed = context.broker().CloseSession(request, &reply); !closed.ok()) {
    PrintError(base::WithContext(closed, base::StrCat("closing session ", session)), context.host().err);
  }
}

absl::StatusOr<int> RunInOwnSession(Context& context, const RunOptions& options,
                                    const std::vector<std::string>& command) {
  v1::OpenSessionReply opened;
  RETURN_IF_ERROR(OpenSession(context, options.opened, &opened));
  const std::string session = opened.session().id();
  const absl::StatusOr<Environment> child = MakeChild(context, options, opened.token().text());
  const absl::StatusOr<int> code = child.ok() ? RunProcess(command, *child) : absl::StatusOr<int>(child.status());
  CloseSession(context, session);
  return code;
}

absl::StatusOr<int> Run(Context& context, const RunOptions& options, const std::vector<std::string>& command) {
  if (!options.opened.requester.empty() || !options.opened.scopes.empty()) {
    return RunInOwnSession(context, options, command);
  }
  if (!options.session.empty()) {
    ASSIGN_OR_RETURN(const std::string token, TokenOfSession(context, options));
    return RunUnderToken(context, options, token, command);
  }
  ASSIGN_OR_RETURN(const std::string token, context.Token());
  return RunUnderToken(context, options, token, command);
}

}  // namespace

void AddRunCommand(CLI::App& app, Action& chosen, const std::vector<std::string>& command) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* leaf =
      AddLeaf(app, "run",
              {"`run [OPTIONS] -- CMD`: run a command through the edge, without any real credential in its variables",
               "credbroker run --requester team-web --scope web-agent -- git clone https://github.com/acme/web",
               "`credbroker token whoami` inside the command shows what it may do", kMore});
  CLI::Option* session = leaf->add_option("--session", options->session, "mint a token of this open session");
  AddSessionOptions(leaf, options->opened);
  CLI::Option* requester = leaf->get_option("--requester");
  CLI::Option* scope = leaf->get_option("--scope");
  requester->needs(scope)->excludes(session);
  scope->needs(requester)->excludes(session);
  AddRepeated(leaf, "--keep-env", options->keep, "leave this variable as it is; repeat for more");
  leaf->add_option("--ca-out", options->ca_out, "write the CA bundle to this file");
  leaf->callback([&chosen, &command, options] {
    if (command.empty()) throw CLI::RequiredError("-- CMD");
    chosen = [options, command](Context& context) { return Run(context, *options, command); };
  });
}

}  // namespace credbroker::client
