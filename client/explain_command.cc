#include <CLI/CLI.hpp>
#include <fstream>
#include <istream>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/command.h"
#include "client/question_row.h"
#include "client/table.h"
#include "credbroker/v1/policy.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr std::size_t kMaxBodyFile = 1 << 20;
constexpr int kQuestionsPerCall = 1000;
constexpr std::size_t kBytesPerCall = 2 << 20;  // under gRPC's default limit of 4 MiB

struct ExplainOptions {
  std::string session, scope, body_file, batch;
  QuestionFlags question;
};

// Whose grant. Flags win over the token in the environment; the token goes along as proof when it speaks for itself.
absl::Status SetWho(const Context& context, const ExplainOptions& options, v1::ExplainRequest* request,
                    std::string* token) {
  const Settings& settings = context.settings();
  const int named = !options.session.empty() + !options.scope.empty() + settings.token_by_flag;
  if (named > 1) return base::Error(base::ErrorCode::kBadArgument, "give one of --session, --token and --scope");
  if (!options.session.empty()) {
    request->set_session(options.session);
    return absl::OkStatus();
  }
  if (!options.scope.empty()) {
    request->set_scope(options.scope);
    return absl::OkStatus();
  }
  if (settings.token.empty()) {
    return base::Error(base::ErrorCode::kBadArgument, "whose grant? give --session, --token or --scope");
  }
  *token = settings.token;
  request->set_token(settings.token);
  return absl::OkStatus();
}

absl::Status Ask(Context& context, v1::ExplainRequest* request, const std::string& token, v1::ExplainReply* reply) {
  RETURN_IF_ERROR(context.broker().Explain(*request, reply, token));
  if (reply->answers_size() == request->questions_size()) return absl::OkStatus();
  return base::Error(base::ErrorCode::kInternal, "the broker did not answer every question");
}

absl::StatusOr<int> ExplainOne(Context& context, ExplainOptions options) {
  if (!options.body_file.empty()) {
    ASSIGN_OR_RETURN(options.question.body, base::ReadFile(options.body_file, kMaxBodyFile), "reading the body");
  }
  v1::ExplainRequest request;
  v1::ExplainReply reply;
  std::string token;
  RETURN_IF_ERROR(SetWho(context, options, &request, &token));
  RETURN_IF_ERROR(MakeQuestion(options.question, request.add_questions()));
  RETURN_IF_ERROR(Ask(context, &request, token, &reply));
  const Json answer = ToJson(reply.answers(0));
  if (context.json()) {
    context.PrintJson(answer);
    return kDone;
  }
  for (const auto& [name, value] : answer.items()) {
    const std::string shown = TextCell(answer, name.c_str());
    if (!shown.empty()) context.Print(base::StrCat(name, std::string(14 - name.size(), ' '), Cell(shown, 300), "\n"));
  }
  return kDone;
}

// Sends what has gathered and prints one answer a line, in the order of the rows.
absl::Status Flush(Context& context, v1::ExplainRequest* request, const std::string& token) {
  if (request->questions_size() == 0) return absl::OkStatus();
  v1::ExplainReply reply;
  RETURN_IF_ERROR(Ask(context, request, token, &reply));
  for (const auto& answer : reply.answers()) context.Print(base::StrCat(LineJson(ToJson(answer)), "\n"));
  request->clear_questions();
  return absl::OkStatus();
}

absl::Status ExplainRows(Context& context, std::istream& rows, v1::ExplainRequest* request, const std::string& token) {
  std::string line;
  std::size_t bytes = 0;
  for (int64_t number = 1; std::getline(rows, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (request->questions_size() >= kQuestionsPerCall || bytes + line.size() > kBytesPerCall) {
      RETURN_IF_ERROR(Flush(context, request, token));
      bytes = 0;
    }
    RETURN_IF_ERROR(ReadQuestionRow(line, request->add_questions()), base::StrCat("line ", number));
    bytes += line.size();
  }
  return Flush(context, request, token);
}

absl::StatusOr<int> ExplainBatch(Context& context, const ExplainOptions& options) {
  v1::ExplainRequest request;
  std::string token;
  RETURN_IF_ERROR(SetWho(context, options, &request, &token));
  if (options.batch == "-") {
    RETURN_IF_ERROR(ExplainRows(context, context.host().in, &request, token));
    return kDone;
  }
  std::ifstream file(options.batch);
  if (!file) return base::Error(base::ErrorCode::kFileUnreadable, options.batch);
  RETURN_IF_ERROR(ExplainRows(context, file, &request, token), options.batch);
  return kDone;
}

}  // namespace

void AddExplainCommand(CLI::App& policy, Action& chosen) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* leaf = AddLeaf(policy, "explain",
                           {"What the policy in force says to one request, or to many (--batch), and why",
                            "credbroker policy explain --scope web-agent --git push --repo https://github.com/acme/web "
                            "--ref refs/heads/agent/SESSION/fix --create",
                            "a deny names its next step; `credbroker policy test` keeps answers as they are"});
  QuestionFlags& question = options->question;
  leaf->add_option("--session", options->session,
                   "whose grant: a session's (or --token, or the token in CREDBROKER_TOKEN)");
  leaf->add_option("--scope", options->scope, "whose grant: a new session's under this scope");
  leaf->add_option("--method", question.method, "HTTP method (default GET)");
  leaf->add_option("--url", question.url, "the request's URL");
  leaf->add_option("--body", options->body_file, "file with the request's body");
  leaf->add_option("--git", question.git, "a git operation")->check(CLI::IsMember({"fetch", "push"}));
  leaf->add_option("--repo", question.repo, "the repository's URL");
  leaf->add_option("--ref", question.ref, "the pushed ref's full name");
  leaf->add_option("--path", question.path, "a file that the push changes, for rules on content");
  leaf->add_flag("--create", question.create, "the push creates the ref");
  leaf->add_flag("--delete", question.remove, "the push deletes the ref");
  leaf->add_flag("--force", question.force, "the push is forced");
  CLI::Option* batch =
      leaf->add_option("--batch", options->batch, "file of JSON lines, - for standard input; answers are JSON lines");
  leaf->callback([&chosen, options, batch] {
    const QuestionFlags& asked = options->question;
    if (batch->count() > 0 && (!asked.url.empty() || !asked.git.empty())) {
      throw CLI::ExcludesError("--batch", "--url and --git");
    }
    if (batch->count() == 0 && asked.url.empty() && asked.git.empty())
      throw CLI::RequiredError("--url, --git or --batch");
    chosen = [options](Context& context) {
      return options->batch.empty() ? ExplainOne(context, *options) : ExplainBatch(context, *options);
    };
  });
}

}  // namespace credbroker::client
