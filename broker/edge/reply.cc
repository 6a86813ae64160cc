#include "edge/reply.h"

#include "audit/canonical.h"
#include "base/str.h"
#include "base/text.h"
#include "wire/lfs.h"

namespace credbroker::edge {
namespace {

std::string JsonBody(const base::ErrorEntry& entry, const gate::Refusal& refusal) {
  std::string body = base::StrCat("{\"error\":{\"code\":", static_cast<int>(entry.code), ",\"reason\":");
  audit::AppendJsonString(entry.text, &body);
  body += ",\"rule\":";
  audit::AppendJsonString(refusal.rule, &body);
  body += ",\"request_id\":";
  audit::AppendJsonString(refusal.request_id, &body);
  body += ",\"next_step\":";
  audit::AppendJsonString(entry.next_step, &body);
  // `message` is where gh and other clients of forges look for something to print.
  body += "},\"message\":";
  audit::AppendJsonString(base::StrCat("credbroker: ", entry.text, " [", static_cast<int>(entry.code), "]; ", entry.next_step), &body);
  body += "}\n";
  return body;
}

}  // namespace

bool IsLoginRefusal(base::ErrorCode code) { return base::Lookup(code).http_status == 401; }

std::string RefusalText(const gate::Refusal& refusal) {
  const base::ErrorEntry& entry = base::Lookup(refusal.code);
  std::string text = base::StrCat("credbroker: ", entry.text, refusal.ref.empty() ? "" : " (", refusal.ref, refusal.ref.empty() ? "" : ")", "\n");
  if (!refusal.path.empty()) {
    base::StrAppend(&text, "path: ", base::EscapeText(refusal.path, 300), " (protected by ", refusal.pattern, ")\n");
  }
  base::StrAppend(&text, "rule: ", refusal.rule, "\nnext step: ", entry.next_step, "\ncode ", static_cast<int>(entry.code), " ", entry.name,
                  ", request ", refusal.request_id, "\n");
  return text;
}

void AppendRefusal(const gate::Refusal& refusal, Audience audience, Challenge challenge, wire::Persist persist, bool head_only,
                   std::string* out) {
  const base::ErrorEntry& entry = base::Lookup(refusal.code);
  int status = entry.http_status;
  std::string extra = "cache-control: no-store\r\n";
  if (IsLoginRefusal(refusal.code) && challenge == Challenge::kProxy) {
    status = 407;
    extra += "proxy-authenticate: Basic realm=\"credbroker\"\r\n";
  } else if (IsLoginRefusal(refusal.code) && challenge == Challenge::kOrigin) {
    extra += "www-authenticate: Basic realm=\"credbroker\"\r\n";
  }
  if (status == 503) extra += "retry-after: 1\r\n";
  std::string body = audience == Audience::kGitText ? RefusalText(refusal) : JsonBody(entry, refusal);
  if (audience == Audience::kLfs) body = wire::LfsRefusal(RefusalText(refusal), body);
  const std::string_view type = audience == Audience::kJson   ? "application/json"
                                : audience == Audience::kLfs ? "application/vnd.git-lfs+json"
                                                             : "text/plain; charset=utf-8";
  std::string answer;
  wire::AppendResponse(status, type, body, persist, extra, &answer);
  if (head_only) answer.resize(answer.size() - body.size());
  *out += answer;
}

}  // namespace credbroker::edge
