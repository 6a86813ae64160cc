#include <array>
#include <cctype>

#include "base/str.h"
#include "evidence/answers.h"

namespace credbroker::evidence {
namespace {

using base::StrAppend;
using base::StrCat;

constexpr std::string_view kStyle = R"(
:root{--ink:#1c2430;--soft:#5b6675;--line:#dfe4ea;--wash:#f6f8fa;--good:#1f6f43;--part:#8a5a00;--told:#3d5a99;--open:#a3262a}
*{box-sizing:border-box}
body{margin:0;color:var(--ink);background:#fff;font:16px/1.55 "Source Serif 4",Georgia,"Liberation Serif",serif}
main{max-width:54rem;margin:0 auto;padding:3rem 1.5rem 5rem}
h1{font-size:2.1rem;line-height:1.2;margin:0 0 .3rem}
h2{font-size:1.35rem;margin:3rem 0 .4rem;padding-top:.6rem;border-top:3px solid var(--ink);text-transform:capitalize}
.lead{color:var(--soft);margin:0 0 1.6rem}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem;margin:0;font-size:.9rem}
.facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}
code,.facts dd.code{font:.82rem/1.5 ui-monospace,"DejaVu Sans Mono",monospace}
nav{margin:1.8rem 0 0;padding:1rem 1.2rem;background:var(--wash);border:1px solid var(--line);border-radius:6px}
nav table{border-collapse:collapse;width:100%;font-size:.92rem}
nav th,nav td{text-align:right;padding:.15rem .5rem;font-weight:400}
nav th:first-child,nav td:first-child{text-align:left;padding-left:0;text-transform:capitalize}
nav th{color:var(--soft)}
a{color:inherit}
article{padding:1.1rem 0 1rem;border-bottom:1px solid var(--line);break-inside:avoid}
article h3{font-size:1.05rem;margin:0 0 .35rem;display:flex;gap:.7rem;align-items:baseline}
article h3 .id{flex:0 0 2.4rem;color:var(--soft);font:600 .82rem/1 ui-monospace,"DejaVu Sans Mono",monospace}
article .body{margin-left:3.1rem}
article p{margin:0 0 .4rem;overflow-wrap:anywhere}
article ul{margin:.1rem 0 .5rem;padding-left:1.1rem}article li{margin:.1rem 0;overflow-wrap:anywhere}
.meta{color:var(--soft);font-size:.8rem;line-height:1.5}
.mark{display:inline-block;font:600 .68rem/1.5 ui-sans-serif,system-ui,"DejaVu Sans",sans-serif;letter-spacing:.03em;padding:.05rem .5rem;border:1px solid currentColor;border-radius:1rem;margin-right:.5rem;white-space:nowrap}
.enforced{color:var(--good)}.answered{color:var(--told)}.partly{color:var(--part)}.declared{color:var(--told)}.unknown{color:var(--open)}
.warn{color:var(--open);font-weight:600}
@page{margin:18mm 16mm}
@media print{body{font-size:10.5pt}main{max-width:none;padding:0}h2{break-after:avoid}nav{break-inside:avoid;background:none}a{text-decoration:none}}
)";

constexpr std::array kGroups = {Group::kIsolation, Group::kNetwork, Group::kSecrets, Group::kGit, Group::kData, Group::kEvidence};

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// Words between backquotes are code.
std::string Prose(std::string_view text) {
  std::string out;
  bool code = false;
  const std::string escaped = Escaped(text);
  for (const char c : escaped) {
    if (c != '`') {
      out += c;
      continue;
    }
    out += code ? "</code>" : "<code>";
    code = !code;
  }
  return code ? out + "</code>" : out;
}

std::string Mark(Kind kind) {
  constexpr std::string_view kClasses[] = {"enforced", "answered", "declared", "partly"};
  return StrCat("<span class=\"mark ", kClasses[static_cast<int>(kind)], "\">", KindText(kind), "</span>");
}

void AppendValue(std::string_view value, std::string* out) {
  if (value.find('\n') == std::string_view::npos) return StrAppend(out, "<p>", Prose(value), "</p>");
  std::size_t end = value.find('\n');
  StrAppend(out, "<ul>");
  while (true) {
    StrAppend(out, "<li>", Prose(value.substr(0, end)), "</li>");
    if (end == std::string_view::npos) break;
    value.remove_prefix(end + 1);
    end = value.find('\n');
  }
  StrAppend(out, "</ul>");
}

void AppendAnswer(const Answer& answer, std::string* out) {
  StrAppend(out, "<article id=\"", answer.id, "\"><h3><span class=\"id\">", answer.id, "</span><span>", Escaped(answer.question), "</span></h3><div class=\"body\">");
  AppendValue(answer.value, out);
  StrAppend(out, "<div class=\"meta\">", Mark(answer.kind), answer.unknown ? "<span class=\"mark unknown\">in part unknown</span>" : "", "for ", answer.audience, " · ",
            Escaped(answer.docs));
  if (!answer.test.empty()) StrAppend(out, " · test: ", Escaped(answer.test));
  if (!answer.controls.empty()) StrAppend(out, " · ", Escaped(answer.controls));
  StrAppend(out, "</div></div></article>\n");
}

// Groups, how many answers of each kind, and how many are unknown in part.
std::string Contents(const Pack& pack) {
  std::string out = "<nav><table><tr><th>group</th><th>enforced</th><th>answered</th><th>declared</th><th>partly</th><th>in part unknown</th></tr>";
  for (const Group group : kGroups) {
    std::array<int, 4> kinds{};
    int unknown = 0;
    for (const Answer& answer : pack.answers) {
      if (answer.group != group) continue;
      ++kinds[static_cast<std::size_t>(answer.kind)];
      unknown += answer.unknown ? 1 : 0;
    }
    StrAppend(&out, "<tr><td><a href=\"#", GroupName(group), "\">", GroupName(group), "</a></td><td>", kinds[0], "</td><td>", kinds[1], "</td><td>", kinds[2], "</td><td>", kinds[3],
              "</td><td>", unknown, "</td></tr>");
  }
  return out + "</table></nav>\n";
}

}  // namespace

std::string Html(const Pack& pack) {
  std::string out = StrCat("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
                           "<title>Security answers, ", Escaped(pack.installation), "</title><style>", kStyle, "</style></head><body><main>\n<h1>Security answers</h1>"
                           "<p class=\"lead\">Credbroker, made from the running configuration. What only the operator knows is shown as declared.</p>\n<dl class=\"facts\">");
  const auto fact = [&](std::string_view name, std::string_view value, std::string_view style = "") {
    StrAppend(&out, "<dt>", name, "</dt><dd", style.empty() ? "" : StrCat(" class=\"", style, "\""), ">", Escaped(value), "</dd>");
  };
  fact("Version", pack.version);
  fact("Installation", pack.installation);
  fact("Made", std::string(base::View(absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", pack.generated_at, absl::UTCTimeZone()))));
  fact("Policy", StrCat("version ", pack.policy_version));
  fact("Configuration", pack.config_digest, "code");
  fact("Reviewed", pack.reviewed_by.empty() ? "never" : StrCat("by ", pack.reviewed_by, " on ", pack.reviewed_at), pack.stale ? "warn" : "");
  fact("Pilot", pack.pilot, pack.pilot.starts_with("passed") ? "" : "warn");
  StrAppend(&out, "</dl>\n", Contents(pack));
  for (const Group group : kGroups) {
    bool first = true;
    for (const Answer& answer : pack.answers) {
      if (answer.group != group) continue;
      if (first) StrAppend(&out, "<h2 id=\"", GroupName(group), "\">", GroupName(group), "</h2>\n");
      first = false;
      AppendAnswer(answer, &out);
    }
  }
  return out + "</main></body></html>\n";
}

}  // namespace credbroker::evidence
