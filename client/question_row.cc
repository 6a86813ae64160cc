#include "client/question_row.h"

#include "base/error.h"
#include "base/str.h"
#include "base/text.h"
#include "credbroker/v1/policy.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

absl::Status Bad(std::string_view why) { return base::Error(base::ErrorCode::kBadArgument, why); }

struct Member {
  const char* name;
  std::string QuestionFlags::*text = nullptr;
  bool QuestionFlags::*flag = nullptr;
};

constexpr Member kMembers[] = {{"method", &QuestionFlags::method},
                               {"url", &QuestionFlags::url},
                               {"body", &QuestionFlags::body},
                               {"git", &QuestionFlags::git},
                               {"repo", &QuestionFlags::repo},
                               {"ref", &QuestionFlags::ref},
                               {"path", &QuestionFlags::path},
                               {"create", nullptr, &QuestionFlags::create},
                               {"delete", nullptr, &QuestionFlags::remove},
                               {"force", nullptr, &QuestionFlags::force}};

absl::Status ReadMember(const std::string& name, const nlohmann::json& value, QuestionFlags* flags) {
  for (const Member& member : kMembers) {
    if (name != member.name) continue;
    if (value.is_null()) return absl::OkStatus();
    if (member.text != nullptr) {
      if (!value.is_string()) return Bad(base::StrCat(name, " must be a text"));
      flags->*member.text = value.get<std::string>();
      return absl::OkStatus();
    }
    if (!value.is_boolean()) return Bad(base::StrCat(name, " must be true or false"));
    flags->*member.flag = value.get<bool>();
    return absl::OkStatus();
  }
  return Bad(base::StrCat("unknown member ", base::EscapeText(name, 64)));
}

absl::Status CheckGit(const QuestionFlags& flags) {
  if (flags.git != "fetch" && flags.git != "push") return Bad("git is fetch or push");
  if (flags.repo.empty()) return Bad("a git question needs repo");
  if (!flags.url.empty() || !flags.method.empty() || !flags.body.empty())
    return Bad("ask about git or about a request, not both");
  if (flags.git == "push" && flags.ref.empty()) return Bad("a push needs ref");
  if (!flags.path.empty() && (flags.git != "push" || flags.remove)) return Bad("path goes with a push that is no deletion");
  if (flags.create + flags.remove + flags.force > 1) return Bad("only one of create, delete and force");
  return absl::OkStatus();
}

absl::Status CheckRequest(const QuestionFlags& flags) {
  if (flags.url.empty()) return Bad("a question needs url, or git and repo");
  if (!flags.repo.empty() || !flags.ref.empty() || !flags.path.empty() || flags.create || flags.remove || flags.force) {
    return Bad("repo, ref, path, create, delete and force go with git");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeQuestion(const QuestionFlags& flags, v1::Question* question) {
  const absl::Status status = flags.git.empty() ? CheckRequest(flags) : CheckGit(flags);
  if (!status.ok()) return status;
  if (flags.git.empty()) {
    question->set_method(flags.method.empty() ? "GET" : flags.method);
    question->set_url(flags.url);
    question->set_body(flags.body);
    return absl::OkStatus();
  }
  question->set_git(flags.git);
  question->set_repo(flags.repo);
  question->set_ref(flags.ref);
  question->set_path(flags.path);
  question->set_change(flags.create ? "create" : flags.remove ? "delete" : flags.force ? "force" : "");
  return absl::OkStatus();
}

absl::Status ReadQuestionRow(std::string_view line, v1::Question* question) {
  if (line.size() > kMaxRowBytes) return base::Error(base::ErrorCode::kTooLarge, "a row of the batch");
  const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
  if (!row.is_object()) return Bad("not a JSON object");
  QuestionFlags flags;
  for (const auto& [name, value] : row.items()) {
    if (const absl::Status status = ReadMember(name, value, &flags); !status.ok()) return status;
  }
  return MakeQuestion(flags, question);
}

}  // namespace credbroker::client
