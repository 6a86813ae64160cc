#include <CLI/CLI.hpp>
#include <istream>

#include "base/error.h"
#include "base/macros.h"
#include "client/command.h"
#include "client/git_credential.h"
#include "client/holder.h"

namespace credbroker::client {
namespace {

std::string ReadInput(std::istream& in) {
  std::string input(kMaxCredentialInput + 1, '\0');
  in.read(input.data(), static_cast<std::streamsize>(input.size()));
  input.resize(static_cast<std::size_t>(in.gcount()));
  return input;
}

absl::StatusOr<int> Answer(Context& context, const std::string& operation) {
  const std::string input = ReadInput(context.host().in);
  // Nothing is stored and so nothing erased; what git may ask in later versions is to be ignored, says
  // gitcredentials(7).
  if (operation != "get") return kDone;
  ASSIGN_OR_RETURN(const CredentialQuestion question, ReadCredentialQuestion(input));
  ASSIGN_OR_RETURN(const std::string token, context.Token());
  ASSIGN_OR_RETURN(const HolderOutline holder, AskHolder(context, token));
  ASSIGN_OR_RETURN(const EdgeConnection edge, AskConnection(context));
  const std::size_t slashes = edge.gateway_url.find("//");
  const std::string gateway = slashes == std::string::npos ? std::string() : edge.gateway_url.substr(slashes + 2);
  context.Print(AnswerCredential(question, {.gateway = gateway, .repositories = holder.git_hosts}, token));
  return kDone;
}

}  // namespace

void AddGitCredentialCommand(CLI::App& app, Action& chosen) {
  const auto operation = std::make_shared<std::string>();
  CLI::App* leaf = AddLeaf(app, "git-credential",
                           {"git's credential helper: gives the token to the gateway and the token's own hosts only",
                            "git -c credential.helper='!credbroker git-credential' fetch",
                            "`credbroker env` sets it up for every git call"});
  leaf->add_option("operation", *operation, "get, store or erase, as git says")->required();
  OnChosen(leaf, chosen, [operation](Context& context) { return Answer(context, *operation); });
}

}  // namespace credbroker::client
