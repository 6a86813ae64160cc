#include "client/record_words.h"

#include <algorithm>

#include "base/str.h"
#include "client/command.h"
#include "client/table.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

using base::StrAppend;
using base::StrCat;

// `before` and `text` and `after`, or nothing when there is no text.
std::string With(std::string_view before, const std::string& text, std::string_view after = {}) {
  return text.empty() ? std::string() : StrCat(before, text, after);
}

std::string WhoWords(const Json& record) {
  const std::string session = TextCell(record, "session");
  if (session.empty()) {
    const std::string actor = TextCell(record, "actor");
    return actor.empty() ? With("a stranger at ", TextCell(record, "peer")) : actor;
  }
  return StrCat("session ", session, With(" of ", TextCell(record, "requester")),
                With(" (token ", TextCell(record, "token_id"), ")"), With(", phase ", TextCell(record, "phase")));
}

std::string JudgedWords(const Json& record) {
  return StrCat(With("rule ", TextCell(record, "rule")), With(" under policy version ", TextCell(record, "policy_version")),
                With(", effect class ", TextCell(record, "effect_class")));
}

void Refused(const Json& record, std::vector<std::string>* words) {
  const std::string code = TextCell(record, "code");
  const base::ErrorEntry* entry = FindError(code);
  words->push_back(StrCat("Refused", With(" with status ", TextCell(record, "status")), ": ", code,
                          entry == nullptr ? std::string() : StrCat(", ", entry->text), "."));
  if (const std::string judged = JudgedWords(record); !judged.empty()) words->push_back(StrCat("Decided by ", judged, "."));
  if (entry != nullptr) words->push_back(StrCat("Next: ", entry->next_step, "."));
}

void Allowed(const Json& record, std::vector<std::string>* words) {
  words->push_back(StrCat("Allowed by ", JudgedWords(record), "."));
  const std::string credential = TextCell(record, "credential");
  words->push_back(credential.empty() ? "No credential was injected." : StrCat("Credential injected: ", credential, "."));
  if (std::string exception = TextCell(record, "exception"); !exception.empty()) {
    words->push_back(StrCat("It passed under exception ", exception, "."));
  }
}

void Ended(const Json& record, std::vector<std::string>* words) {
  std::string text = StrCat("It ended as ", TextCell(record, "outcome"), With(" with status ", TextCell(record, "status")),
                            With(", reason ", TextCell(record, "code")));
  StrAppend(&text, With("; bytes to the upstream ", TextCell(record, "bytes_up")),
            With(", from it ", TextCell(record, "bytes_down")), With(", after ", TextCell(record, "duration_us"), " us"), ".");
  words->push_back(text);
}

void Acted(const Json& record, std::vector<std::string>* words) {
  words->push_back(StrCat(TextCell(record, "action"), With(" of ", TextCell(record, "subject")),
                          With(" by ", TextCell(record, "actor")), "."));
  if (std::string scopes = ListCell(record, "scopes"); !scopes.empty()) words->push_back(StrCat("Scopes: ", scopes, "."));
  const std::string before = TextCell(record, "before");
  const std::string after = TextCell(record, "after");
  if (!before.empty() || !after.empty()) {
    words->push_back(StrCat("Digest before: ", before.empty() ? "none" : before, "; after: ", after.empty() ? "none" : after, "."));
  }
  if (std::string detail = TextCell(record, "detail"); !detail.empty()) words->push_back(StrCat("Detail: ", detail, "."));
}

}  // namespace

const base::ErrorEntry* FindError(std::string_view name) {
  static constexpr base::ErrorCode kAll[] = {
#define BROKER_ERROR(number, name, status, http, text, next_step) base::ErrorCode::name,
#include "base/errors.def"
#undef BROKER_ERROR
  };
  for (const base::ErrorCode code : kAll) {
    if (base::Lookup(code).name == name) return &base::Lookup(code);
  }
  return nullptr;
}

std::string AskedWords(const Json& record) {
  const auto refs = record.find("refs");
  if (refs != record.end() && refs->is_array() && !refs->empty()) {
    std::string text = StrCat("push to ", TextCell(record, "host"), "/", TextCell(record, "repository"), ":");
    for (const Json& ref : *refs) {
      if (ref.is_object()) StrAppend(&text, " ", TextCell(ref, "change"), " ", TextCell(ref, "ref"));
    }
    return text;
  }
  return StrCat(TextCell(record, "method"), " ", With("", TextCell(record, "scheme"), "://"), TextCell(record, "host"),
                With(":", TextCell(record, "port")), TextCell(record, "path"));
}

std::vector<std::string> RecordWords(const Json& record) {
  const std::string kind = TextCell(record, "kind");
  std::vector<std::string> words;
  if (kind == "deny" || kind == "intent" || kind == "outcome" || kind == "misuse") {
    words.push_back(StrCat("At ", TimeCell(record.value("time", Json())), " ", WhoWords(record), " asked for ",
                           AskedWords(record), "."));
    if (kind == "misuse") words.push_back("A token was shown that cannot be right: it may be in the wrong hands.");
    if (kind == "deny" || kind == "misuse") Refused(record, &words);
    if (kind == "intent" || (kind == "outcome" && record.contains("rule") && !record["rule"].is_null())) Allowed(record, &words);
    if (kind == "intent") words.push_back("This was written before it happened; the outcome has the same request id.");
    if (kind == "outcome") Ended(record, &words);
    return words;
  }
  words.push_back(StrCat("At ", TimeCell(record.value("time", Json())), " by ", WhoWords(record), ":"));
  Acted(record, &words);
  return words;
}

}  // namespace credbroker::client
