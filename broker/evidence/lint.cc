#include "evidence/lint.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/str.h"

namespace credbroker::evidence {
namespace {

// Words of brochures. Each can be true of anything.
constexpr std::array<std::string_view, 20> kVague = {
    "industry standard", "industry-standard", "best practice", "best-practice", "state of the art", "state-of-the-art", "bank-grade",
    "military-grade",    "enterprise-grade",  "robust",        "world-class",   "seamless",         "cutting-edge",     "secure by design",
    "as needed",         "as appropriate",    "may vary",      "where possible", "reasonable",      "etc."};

constexpr std::array<std::string_view, 10> kClaims = {"soc 2",   "soc2",      "iso 27001", "iso27001", "iso/iec 27001",
                                                      "fedramp", "pci dss",   "hipaa",     "certified", "compliant"};

constexpr std::array<std::string_view, 4> kNotApplicable = {"not applicable", "n.a.", "n/a", "na"};

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// The first of `words` that stands in `text` as words of its own, or empty.
std::string FirstOf(std::string_view text, const auto& words) {
  const std::string lower = Lower(text);
  for (const std::string_view word : words) {
    for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
      const bool begins = at == 0 || !IsLetter(lower[at - 1]);
      const std::size_t end = at + word.size();
      if (begins && (end == lower.size() || !IsLetter(lower[end]) || !IsLetter(word.back()))) return std::string(word);
    }
  }
  return {};
}

absl::Status Refuse(const Answer& answer, std::string_view why) {
  return base::Error(base::ErrorCode::kAnswerRefused, base::StrCat(answer.id, ": ", why));
}

}  // namespace

std::string VagueWord(std::string_view text) { return FirstOf(text, kVague); }

bool ClaimsCertification(std::string_view text) { return !FirstOf(text, kClaims).empty(); }

absl::Status Lint(const Answer& answer) {
  if (answer.value.empty()) return Refuse(answer, "nothing is said");
  const std::string lower = Lower(answer.value);
  const bool not_applicable = std::any_of(kNotApplicable.begin(), kNotApplicable.end(), [&](std::string_view word) {
    return lower.starts_with(word) && (lower.size() == word.size() || !IsLetter(lower[word.size()]));
  });
  // "not applicable: because ..." has its reason behind the colon.
  if (not_applicable && lower.find(": ") == std::string::npos) return Refuse(answer, "not applicable, without a reason");
  if (const std::string word = VagueWord(answer.value); !word.empty()) return Refuse(answer, base::StrCat("\"", word, "\" says nothing that can be checked"));
  if (answer.docs.empty()) return Refuse(answer, "no place in the documentation");
  if (answer.kind == Kind::kEnforced && answer.test.empty()) return Refuse(answer, "said to be enforced, and no test shows it");
  if (answer.id != "S25" && ClaimsCertification(answer.value)) return Refuse(answer, "claims a certification");
  return absl::OkStatus();
}

}  // namespace credbroker::evidence
