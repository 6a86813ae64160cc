#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "audit/tree.h"
#include "crypto/sign.h"

namespace credbroker::audit {

// C2SP signed notes (c2sp.org/signed-note) and checkpoints (c2sp.org/tlog-checkpoint).
//   note      := text LF signature+      text ends in LF
//   signature := U+2014 SP name SP base64(key id u32be | signature) LF
//   vkey      := name "+" key id in hex "+" base64(type u8 | key[32])
inline constexpr std::size_t kMaxNoteBytes = 1 << 20;
inline constexpr int kMaxNoteSignatures = 100;

enum class NoteKeyType : uint8_t {
  kEd25519 = 0x01,
  kCosignature = 0x04,  // a witness's timestamped Ed25519 cosignature (c2sp.org/tlog-cosignature)
};

// A public key as verifiers pin it.
struct NoteKey {
  std::string name;
  uint32_t id = 0;
  NoteKeyType type = NoteKeyType::kEd25519;
  std::string public_key;  // 32 bytes
};

// Fails kBadArgument; white space around the text is allowed for, as files end in a newline.
absl::StatusOr<NoteKey> ParseNoteKey(std::string_view text);
NoteKey MakeNoteKey(std::string name, std::string_view public_key, NoteKeyType type = NoteKeyType::kEd25519);
std::string NoteKeyText(const NoteKey& key);
// A name has no white space, no plus, and is UTF-8.
bool IsNoteName(std::string_view name);

struct NoteSignature {
  std::string name;
  uint32_t key_id = 0;
  uint64_t timestamp = 0;  // seconds, of cosignatures
};

struct Note {
  std::string text;  // what is signed, the last LF included
  std::vector<NoteSignature> verified, unverified;
};

// Opens a note under the known keys. Fails kBadArgument ("malformed note ..."), or kLedgerTampered: "invalid signature
// ..." when a known key's signature does not verify, "no verifiable signature", "ambiguous key ...".
absl::StatusOr<Note> OpenNote(std::string_view note, std::span<const NoteKey> keys);

// Signs `text`, which ends in LF and has no empty line in its signature block's place. Fails kBadArgument for a text
// that could not be opened again.
absl::StatusOr<std::string> SignNote(std::string_view text, std::string_view name, const crypto::SigningKey& key);

// What a log states about itself.
struct Checkpoint {
  std::string origin;
  uint64_t size = 0;
  Hash root{};
};

std::string CheckpointText(const Checkpoint& checkpoint);
// Three lines at least; extension lines are allowed and left alone. Fails kBadArgument.
absl::StatusOr<Checkpoint> ParseCheckpoint(std::string_view text);
// OpenNote and ParseCheckpoint; the origin must be the name of a key that signed it (kLedgerTampered).
absl::StatusOr<Checkpoint> OpenCheckpoint(std::string_view note, std::span<const NoteKey> keys);

}  // namespace credbroker::audit
