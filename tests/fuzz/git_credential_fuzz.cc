// Whatever git's side of the pipe says: an answer goes to a listed host or to nobody, and never holds a smuggled line.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "client/git_credential.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace credbroker::client;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto question = ReadCredentialQuestion(input);
  if (!question.ok()) return 0;
  const std::string answer = AnswerCredential(
      *question, {.gateway = "127.0.0.1:7481", .repositories = {"git.test", "git.example:8443"}}, "TOKEN");
  if (answer.empty()) return 0;
  const bool listed =
      question->host == "git.test" || question->host == "git.example:8443" || question->host == "127.0.0.1:7481";
  if (!listed) std::abort();
  if (answer != "username=credbroker\npassword=TOKEN\n") std::abort();
  // The host was on one line of its own, in one canonical spelling.
  const std::string_view head = input.substr(0, input.find("\n\n"));
  if (head.find('\r') != std::string_view::npos || head.find('\0') != std::string_view::npos) std::abort();
  return 0;
}
