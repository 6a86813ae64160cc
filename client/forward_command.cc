#include <CLI/CLI.hpp>
#include <csignal>
#include <ostream>

#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/forwarder.h"
#include "client/subprocess.h"

namespace credbroker::client {
namespace {

constexpr char kMore[] =
    "The broker makes a socket for each session when its configuration says `edge: {session_sockets: true}`; `session open`\n"
    "shows the path. Mount the folder that holds it into the sandbox. Outside, `credbroker env --session ID --through ADDRESS`\n"
    "prints the variables for the sandbox; they hold no token. With `-- CMD` it runs until the command ends, and the exit code\n"
    "is the command's.";

struct ForwardOptions {
  std::string socket;
  std::string listen = "127.0.0.1:7480";
};

absl::StatusOr<int> Forward(Context& context, const ForwardOptions& options, const std::vector<std::string>& command) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &ends, &before);  // before the forwarder's thread starts: it must not take them
  ASSIGN_OR_RETURN(const std::unique_ptr<Forwarder> forwarder, Forwarder::Start(options.listen, options.socket));
  context.Note(base::StrCat("forwarding http://", forwarder->address(), " to ", options.socket));
  context.host().err.flush();
  if (!command.empty()) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);  // RunProcess passes them on
    return RunProcess(command, context.host().environment);
  }
  int signal = 0;
  sigwait(&ends, &signal);
  return kDone;
}

}  // namespace

void AddForwardCommand(CLI::App& app, Action& chosen, const std::vector<std::string>& command) {
  const auto options = std::make_shared<ForwardOptions>();
  CLI::App* leaf = AddLeaf(app, "forward",
                           {"In a sandbox: a loopback proxy in front of its session's own socket, so that no token is needed",
                            "credbroker forward --socket /run/credbroker/edge.sock -- git clone https://github.com/acme/web",
                            "`credbroker env --session ID --through 127.0.0.1:7480` prints the variables that lead there", kMore});
  leaf->add_option("--socket", options->socket, "path of the session's socket")->required();
  leaf->add_option("--listen", options->listen, "loopback ADDRESS:PORT; port 0 takes a free one")->capture_default_str();
  leaf->callback([&chosen, &command, options] {
    chosen = [options, command](Context& context) { return Forward(context, *options, command); };
  });
}

}  // namespace credbroker::client
