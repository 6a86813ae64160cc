#include <array>

#include "base/str.h"
#include "base/text.h"
#include "evidence/answers.h"

namespace credbroker::evidence {
namespace {

using base::StrAppend;
using base::StrCat;

// Names in a policy are an admin's text; in a page they are text and nothing else.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\`*_{}[]<>#|!").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void AppendAnswer(const Answer& answer, std::string* out) {
  StrAppend(out, "### ", answer.id, " ", Escaped(answer.question), "\n\n");
  std::string_view rest = answer.value;
  const bool list = rest.find('\n') != std::string_view::npos;
  while (true) {
    const std::size_t end = rest.find('\n');
    StrAppend(out, list ? "- " : "", Escaped(rest.substr(0, end)), "\n");
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  StrAppend(out, "\n_", KindText(answer.kind), answer.unknown ? ", in part unknown" : "", " · for ", answer.audience, " · ", answer.docs);
  if (!answer.test.empty()) StrAppend(out, " · test: ", Escaped(answer.test));
  if (!answer.controls.empty()) StrAppend(out, " · ", answer.controls);
  StrAppend(out, "_\n\n");
}

}  // namespace

std::string Markdown(const Pack& pack) {
  std::string out = "# Security answers\n\n";
  StrAppend(&out, "- product: Credbroker ", pack.version, ", installation ", pack.installation, "\n- configuration: ", pack.config_digest, "\n- policy: version ",
            pack.policy_version, ", ", pack.policy_digest, "\n- made: ", base::View(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", pack.generated_at, absl::UTCTimeZone())),
            "\n- reviewed: ", pack.reviewed_by.empty() ? "never" : StrCat("by ", Escaped(pack.reviewed_by), " on ", pack.reviewed_at), pack.stale ? " (STALE)" : "",
            "\n- pilot: ", pack.pilot, "\n\n");
  for (const Group group : {Group::kIsolation, Group::kNetwork, Group::kSecrets, Group::kGit, Group::kData, Group::kEvidence}) {
    bool first = true;
    for (const Answer& answer : pack.answers) {
      if (answer.group != group) continue;
      if (first) StrAppend(&out, "## ", GroupName(group), "\n\n");
      first = false;
      AppendAnswer(answer, &out);
    }
  }
  return out;
}

}  // namespace credbroker::evidence
