#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "evidence/answers.h"
#include "evidence/archive.h"

namespace credbroker::evidence {

// The evidence bundle (S24): a tar file whose first part, `MANIFEST`, is a signed note over the digests of all others.
//   manifest text := "credbroker/bundle" LF config digest LF (sha256 in hex SP name LF)*
// The note is signed with the broker's ledger key, so the key that pins the ledger pins the bundle.
inline constexpr std::string_view kManifest = "MANIFEST";

// Answers in three formats and the architecture note, beside what the caller adds: checkpoint, proofs, pilot.
std::vector<Part> AnswerParts(const Pack& pack);

// The text to sign for these parts, which are sorted by name first.
std::string ManifestText(std::string_view config_digest, std::vector<Part>* parts);

// The bundle's bytes: the signed manifest, then the parts.
std::string PackBundle(std::string signed_manifest, std::vector<Part> parts);

// Do the parts agree with the manifest's text (the opened note's), each named once and none missing? Fails kBundleInvalid,
// with the first part that does not.
absl::Status CheckParts(std::string_view manifest_text, const std::vector<Part>& parts);

}  // namespace credbroker::evidence
