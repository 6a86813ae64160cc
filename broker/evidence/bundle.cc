#include "evidence/bundle.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/str.h"
#include "crypto/hash.h"
#include "evidence/architecture.h"

namespace credbroker::evidence {
namespace {

constexpr std::string_view kHead = "credbroker/bundle\n";

absl::Status Bad(std::string_view why) { return base::Error(base::ErrorCode::kBundleInvalid, why); }

}  // namespace

std::vector<Part> AnswerParts(const Pack& pack) {
  return {{"answers.json", ToJson(pack).dump(2) + "\n"},
          {"answers.md", Markdown(pack)},
          {"answers.html", Html(pack)},
          {"architecture.md", std::string(kArchitectureNote)}};
}

std::string ManifestText(std::string_view config_digest, std::vector<Part>* parts) {
  std::sort(parts->begin(), parts->end(), [](const Part& a, const Part& b) { return a.name < b.name; });
  std::string text = base::StrCat(kHead, config_digest, "\n");
  for (const Part& part : *parts) base::StrAppend(&text, crypto::Sha256Hex(part.content), " ", part.name, "\n");
  return text;
}

std::string PackBundle(std::string signed_manifest, std::vector<Part> parts) {
  parts.insert(parts.begin(), {std::string(kManifest), std::move(signed_manifest)});
  return PackTar(parts);
}

absl::Status CheckParts(std::string_view manifest_text, const std::vector<Part>& parts) {
  if (!manifest_text.starts_with(kHead)) return Bad("the manifest is that of something else");
  std::string_view lines = manifest_text.substr(kHead.size());
  lines.remove_prefix(std::min(lines.size(), lines.find('\n') + 1));
  std::size_t next = 0;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::string_view digest = line.substr(0, line.find(' ')), name = line.substr(std::min(line.size(), digest.size() + 1));
    if (next == parts.size() || parts[next].name != name) return Bad(base::StrCat(name, " is missing"));
    if (crypto::Sha256Hex(parts[next].content) != digest) return Bad(base::StrCat(name, " was changed"));
    ++next;
  }
  return next == parts.size() ? absl::OkStatus() : Bad(base::StrCat(parts[next].name, " is not in the manifest"));
}

}  // namespace credbroker::evidence
