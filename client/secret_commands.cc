#include <google/protobuf/message.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/secret.h"
#include "base/str.h"
#include "client/command.h"
#include "client/table.h"
#include "credbroker/v1/secret.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr std::size_t kMaxSecret = 64 << 10;

// Keeps a typed value off the screen while it lives.
class QuietTerminal {
 public:
  QuietTerminal() {
    quiet_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!quiet_) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  ~QuietTerminal() {
    if (quiet_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

 private:
  termios before_{};
  bool quiet_ = false;
};

absl::StatusOr<std::string> ReadTyped(Context& context, const std::string& name) {
  context.Note(base::StrCat("Type or paste the value of ", name, ", then Enter; it is not shown."));
  const QuietTerminal quiet;
  std::string value;
  std::getline(context.host().in, value);
  return value;
}

absl::StatusOr<std::string> ReadPiped(Context& context) {
  std::string value(kMaxSecret + 1, '\0');
  context.host().in.read(value.data(), static_cast<std::streamsize>(value.size()));
  value.resize(static_cast<std::size_t>(context.host().in.gcount()));
  if (value.size() <= kMaxSecret) return value;
  base::WipeString(value);
  return base::Error(base::ErrorCode::kTooLarge, "a secret has at most 64 KiB");
}

struct ValueOptions {
  std::string name, from_file;
  bool replace = false;
};

absl::StatusOr<std::string> ReadValue(Context& context, const ValueOptions& options) {
  if (!options.from_file.empty()) return base::ReadFile(options.from_file, kMaxSecret);
  if (&context.host().in == &std::cin && isatty(STDIN_FILENO) == 1) return ReadTyped(context, options.name);
  return ReadPiped(context);
}

// Sends the value and wipes every copy that is ours; gRPC's own buffers are beyond our reach.
template <typename Request>
absl::Status Send(Context& context, const ValueOptions& options, Request* request,
                  const std::function<absl::Status(const Request&)>& call) {
  ASSIGN_OR_RETURN(std::string value, ReadValue(context, options), "reading the value");
  request->set_name(options.name);
  request->set_value(value);
  base::WipeString(value);
  const absl::Status status = call(*request);
  base::WipeString(*request->mutable_value());
  return status;
}

void Report(Context& context, const google::protobuf::Message& reply, std::string_view done) {
  const Json json = ToJson(reply);
  if (context.json()) return context.PrintJson(json);
  context.Print(base::StrCat(done, " ", Cell(TextCell(json["secret"], "name"), 80), ", version ",
                             TextCell(json["secret"], "version"), "\n"));
}

absl::StatusOr<int> Put(Context& context, const ValueOptions& options) {
  v1::PutSecretRequest request;
  v1::PutSecretReply reply;
  request.set_replace(options.replace);
  RETURN_IF_ERROR(Send<v1::PutSecretRequest>(context, options, &request, [&](const v1::PutSecretRequest& sent) {
    return context.broker().PutSecret(sent, &reply);
  }));
  Report(context, reply, "put");
  return kDone;
}

absl::StatusOr<int> Rotate(Context& context, const ValueOptions& options) {
  v1::RotateSecretRequest request;
  v1::RotateSecretReply reply;
  RETURN_IF_ERROR(Send<v1::RotateSecretRequest>(context, options, &request, [&](const v1::RotateSecretRequest& sent) {
    return context.broker().RotateSecret(sent, &reply);
  }));
  Report(context, reply, "rotated");
  return kDone;
}

absl::StatusOr<int> Delete(Context& context, const std::string& name) {
  v1::DeleteSecretRequest request;
  v1::DeleteSecretReply reply;
  request.set_name(name);
  RETURN_IF_ERROR(context.broker().DeleteSecret(request, &reply));
  if (context.json()) {
    context.PrintJson({{"deleted", name}});
    return kDone;
  }
  context.Print(base::StrCat("deleted ", Cell(name, 80), "\n"));
  return kDone;
}

// Secrets that the policy names and nobody put yet stand in the same list, with `set` false.
Json SecretRows(const v1::ListSecretsReply& reply) {
  Json rows = Json::array();
  for (const auto& secret : reply.secrets()) {
    Json row = ToJson(secret);
    row["set"] = true;
    rows.push_back(std::move(row));
  }
  for (const std::string& name : reply.missing()) {
    v1::SecretInfo missing;
    missing.set_name(name);
    Json row = ToJson(missing);
    row["set"] = false;
    rows.push_back(std::move(row));
  }
  return rows;
}

absl::StatusOr<int> List(Context& context) {
  v1::ListSecretsReply reply;
  RETURN_IF_ERROR(context.broker().ListSecrets({}, &reply));
  const Json rows = SecretRows(reply);
  if (context.json()) {
    context.PrintJson(rows);
    return kDone;
  }
  Table table({{"NAME"}, {"STATE"}, {"VERSION"}, {"CREATED"}, {"ROTATED"}, {"CREDENTIALS"}});
  for (const Json& row : rows) {
    table.Add({TextCell(row, "name"), row["set"].get<bool>() ? "set" : "NOT SET", TextCell(row, "version"),
               TimeCell(row["created_at"]), TimeCell(row["rotated_at"]), ListCell(row, "credentials")});
  }
  context.Print(table.Text());
  return kDone;
}

void AddValueOptions(CLI::App* leaf, ValueOptions& options) {
  leaf->add_option("name", options.name, "the secret's name")->required();
  leaf->add_option("--from-file", options.from_file, "read the value from this file; default: standard input");
}

}  // namespace

void AddSecretCommands(CLI::App& app, Action& chosen) {
  CLI::App* group = AddGroup(
      app, "secret",
      {"Real credentials in custody: put in, never read out", "credbroker secret put git-bot --from-file token.txt",
       "`credbroker policy get` shows which credential uses which secret"});
  const auto put = std::make_shared<ValueOptions>();
  CLI::App* leaf = AddLeaf(*group, "put",
                           {"Seal a value under a name; the value comes from standard input or a file",
                            "printf %s \"$VALUE\" | credbroker secret put git-bot",
                            "name it in the policy as `secret: git-bot`, then `credbroker apply`"});
  AddValueOptions(leaf, *put);
  leaf->add_flag("--replace", put->replace, "replace the value if the name is taken");
  OnChosen(leaf, chosen, [put](Context& context) { return Put(context, *put); });

  OnChosen(AddLeaf(*group, "list",
                   {"Names, versions and users of the secrets, and those that the policy misses; never a value",
                    "credbroker secret list", "`credbroker secret put NAME` sets a missing one"}),
           chosen, List);

  const auto rotate = std::make_shared<ValueOptions>();
  leaf = AddLeaf(*group, "rotate",
                 {"Give a secret a new value; edges use it from the next request on",
                  "credbroker secret rotate git-bot --from-file new-token.txt",
                  "revoke the old value at its issuer, then `credbroker audit list --kind admin`"});
  AddValueOptions(leaf, *rotate);
  OnChosen(leaf, chosen, [rotate](Context& context) { return Rotate(context, *rotate); });

  const auto name = std::make_shared<std::string>();
  leaf = AddLeaf(*group, "delete",
                 {"Remove a secret; requests that need it fail until it is put again",
                  "credbroker secret delete git-bot", "`credbroker secret list` shows what is left"});
  leaf->add_option("name", *name, "the secret's name")->required();
  OnChosen(leaf, chosen, [name](Context& context) { return Delete(context, *name); });
}

}  // namespace credbroker::client
