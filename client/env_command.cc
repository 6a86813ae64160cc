#include <CLI/CLI.hpp>

#include "base/macros.h"
#include "base/str.h"
#include "client/ca_bundle.h"
#include "client/command.h"
#include "client/environment.h"
#include "client/holder.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr char kMore[] =
    "NO_PROXY is empty on purpose: an upstream may be called localhost, and only the network can stop a bypass.\n"
    "Java reads none of these; give it -Dhttps.proxyHost, -Dhttps.proxyPort, "
    "-Djdk.http.auth.tunneling.disabledSchemes=\n"
    "and -Djavax.net.ssl.trustStore in JAVA_TOOL_OPTIONS. wget takes --ca-certificate=$SSL_CERT_FILE, apt\n"
    "-o Acquire::https::CAInfo=$SSL_CERT_FILE.";

struct EnvOptions {
  std::string ca_out;
  std::string session, through;  // for a sandbox at the session's own socket
};

absl::StatusOr<Variables> Make(Context& context, const EnvOptions& options) {
  const std::string& ca_out = options.ca_out;
  if (!options.session.empty()) return VariablesThrough(context, options.session, options.through, ca_out);
  if (!context.settings().token.empty() || ca_out.empty()) {
    ASSIGN_OR_RETURN(const std::string token, context.Token());
    return VariablesFor(context, token, ca_out);
  }
  // Without a token the bundle alone can be asked for, for images and build steps.
  ASSIGN_OR_RETURN(const EdgeConnection edge, AskConnection(context));
  ASSIGN_OR_RETURN(const std::string bundle, MakeBundle(edge.ca_pem));
  ASSIGN_OR_RETURN(const std::string path, WriteBundle(bundle, ca_out, context.host().environment));
  return CaVariables(path);
}

absl::StatusOr<int> PrintEnvironment(Context& context, const EnvOptions& options) {
  ASSIGN_OR_RETURN(const Variables variables, Make(context, options));
  if (!options.ca_out.empty()) context.Note(base::StrCat("wrote the CA bundle to ", options.ca_out));
  if (!context.json()) {
    context.Print(ShellExports(variables));
    return kDone;
  }
  Json object = Json::object();
  for (const auto& [name, value] : variables) object[name] = value;
  context.PrintJson(object);
  return kDone;
}

}  // namespace

void AddEnvCommand(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<EnvOptions>();
  CLI::App* leaf = AddLeaf(
      app, "env",
      {"Variables that send unmodified tools through the edge, as shell lines or JSON",
       "eval \"$(CREDBROKER_TOKEN=... credbroker env)\"",
       "`git clone https://HOST/REPOSITORY` works now; `credbroker run -- CMD` does it for one command", kMore});
  leaf->add_option("--ca-out", options->ca_out, "write the CA bundle (system roots and ours) to this file");
  CLI::Option* session = leaf->add_option("--session", options->session, "for a sandbox at this session's own socket: variables without a token");
  CLI::Option* through = leaf->add_option("--through", options->through, "HOST:PORT at which `credbroker forward` listens in that sandbox");
  session->needs(through);
  through->needs(session);
  OnChosen(leaf, chosen, [options](Context& context) { return PrintEnvironment(context, *options); });
}

}  // namespace credbroker::client
