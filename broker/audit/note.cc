#include "audit/note.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "crypto/hash.h"

namespace credbroker::audit {
namespace {

constexpr std::string_view kDash = "\xE2\x80\x94 ";  // U+2014 and a space

absl::Status Malformed(std::string_view why) {
  return base::Error(base::ErrorCode::kBadArgument, base::StrCat("malformed note: ", why));
}
absl::Status BadKey(std::string_view why) { return base::Error(base::ErrorCode::kBadArgument, base::StrCat("malformed key: ", why)); }
absl::Status Distrust(std::string_view why) { return base::Error(base::ErrorCode::kLedgerTampered, why); }

uint64_t BigEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

std::string BigEndian4(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift & 0xFF));
  return bytes;
}

// The signed-note specification wants padded standard base64 and nothing else.
bool DecodePadded(std::string_view text, std::string* out) { return text.size() % 4 == 0 && base::Base64Decode(text, out); }

uint32_t KeyId(std::string_view name, NoteKeyType type, std::string_view public_key) {
  const crypto::Sha256Digest digest = crypto::Sha256(base::StrCat(name, '\n', static_cast<char>(type), public_key));
  return static_cast<uint32_t>(BigEndian(crypto::View(digest).substr(0, 4)));
}

struct SignatureLine {
  NoteSignature signature;
  std::string bytes;
};

absl::StatusOr<SignatureLine> ParseSignature(std::string_view line) {
  if (!line.starts_with(kDash)) return Malformed("a signature line begins with a dash");
  line.remove_prefix(kDash.size());
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return Malformed("a signature line has a name and a signature");
  SignatureLine parsed;
  parsed.signature.name = std::string(line.substr(0, space));
  if (!IsNoteName(parsed.signature.name)) return Malformed("bad key name");
  if (!DecodePadded(line.substr(space + 1), &parsed.bytes) || parsed.bytes.size() < 5) return Malformed("bad signature text");
  parsed.signature.key_id = static_cast<uint32_t>(BigEndian(std::string_view(parsed.bytes).substr(0, 4)));
  parsed.bytes.erase(0, 4);
  return parsed;
}

// Whether `line` is a good signature of `key` over `text`; fills in the cosignature's time.
bool Verifies(const NoteKey& key, std::string_view text, SignatureLine* line) {
  const absl::StatusOr<crypto::VerifyKey> verify = crypto::VerifyKey::FromBytes(key.public_key);
  if (!verify.ok()) return false;
  if (key.type == NoteKeyType::kEd25519) return verify->Verify(text, line->bytes);
  if (line->bytes.size() != 8 + crypto::kEd25519SignatureBytes) return false;
  const std::string_view bytes = line->bytes;
  line->signature.timestamp = BigEndian(bytes.substr(0, 8));
  return verify->Verify(base::StrCat("cosignature/v1\ntime ", line->signature.timestamp, '\n', text), bytes.substr(8));
}

bool Repeated(const std::vector<NoteSignature>& seen, const NoteSignature& signature) {
  return std::any_of(seen.begin(), seen.end(), [&](const NoteSignature& other) {
    return other.name == signature.name && other.key_id == signature.key_id;
  });
}

absl::Status Judge(SignatureLine line, std::span<const NoteKey> keys, Note* note) {
  const NoteKey* found = nullptr;
  for (const NoteKey& key : keys) {
    if (key.name != line.signature.name || key.id != line.signature.key_id) continue;
    if (found != nullptr) return Distrust(base::StrCat("ambiguous key ", key.name));
    found = &key;
  }
  if (found == nullptr) {
    note->unverified.push_back(line.signature);
    return absl::OkStatus();
  }
  if (Repeated(note->verified, line.signature)) return absl::OkStatus();  // lines of one key count once
  if (!Verifies(*found, note->text, &line)) return Distrust(base::StrCat("invalid signature of ", line.signature.name));
  note->verified.push_back(line.signature);
  return absl::OkStatus();
}

bool IsNoteText(std::string_view text) {
  return base::IsUtf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<uint8_t>(c) < 0x20 && c != '\n';
         });
}

}  // namespace

bool IsNoteName(std::string_view name) {
  if (name.empty() || name.size() > 255 || !base::IsUtf8(name) || name.find('+') != std::string_view::npos) return false;
  // Unicode spaces are two or three bytes; EscapeText knows them among the invisible, so what it changes is no name.
  for (const std::string_view space : {"\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
                                       "\u2007", "\u2008", "\u2009", "\u200A", "\u202F", "\u205F", "\u3000", " "}) {
    if (name.find(space) != std::string_view::npos) return false;
  }
  return base::EscapeText(name, 1024) == name;
}

NoteKey MakeNoteKey(std::string name, std::string_view public_key, NoteKeyType type) {
  const uint32_t id = KeyId(name, type, public_key);
  return {std::move(name), id, type, std::string(public_key)};
}

std::string NoteKeyText(const NoteKey& key) {
  return base::StrCat(key.name, '+', base::HexEncode(BigEndian4(key.id)), '+',
                      base::Base64Encode(base::StrCat(static_cast<char>(key.type), key.public_key)));
}

absl::StatusOr<NoteKey> ParseNoteKey(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  const std::size_t first = text.find('+');
  if (first == std::string_view::npos || text.size() < first + 10 || text[first + 9] != '+') return BadKey("not name+id+key");
  const std::string_view name = text.substr(0, first);
  const std::string_view id_text = text.substr(first + 1, 8);
  std::string id, bytes;
  if (!IsNoteName(name)) return BadKey("bad name");
  if (!base::HexDecode(id_text, &id) || base::AsciiLower(id_text) != id_text) return BadKey("bad key id");
  if (!DecodePadded(text.substr(first + 10), &bytes) || bytes.size() != 33) return BadKey("wrong length");
  if (bytes[0] != static_cast<char>(NoteKeyType::kEd25519) && bytes[0] != static_cast<char>(NoteKeyType::kCosignature)) {
    return BadKey("unknown algorithm");
  }
  NoteKey key = MakeNoteKey(std::string(name), std::string_view(bytes).substr(1), static_cast<NoteKeyType>(bytes[0]));
  if (key.id != static_cast<uint32_t>(BigEndian(id))) return BadKey("the key id does not fit");
  return key;
}

absl::StatusOr<Note> OpenNote(std::string_view note, std::span<const NoteKey> keys) {
  if (note.size() > kMaxNoteBytes) return Malformed("too long");
  if (!IsNoteText(note)) return Malformed("control characters or invalid UTF-8");
  const std::size_t border = note.rfind("\n\n");
  if (border == std::string_view::npos) return Malformed("no signature block");
  Note opened;
  opened.text = std::string(note.substr(0, border + 1));
  std::string_view block = note.substr(border + 2);
  if (block.empty() || !block.ends_with('\n')) return Malformed("the signature block does not end in a newline");
  std::set<std::string_view> seen;
  for (int count = 1; !block.empty(); ++count) {
    if (count > kMaxNoteSignatures) return Malformed("too many signatures");
    const std::size_t end = block.find('\n');
    const std::string_view text = block.substr(0, end);
    block.remove_prefix(end + 1);
    if (!seen.insert(text).second) continue;  // the same line again says nothing new
    ASSIGN_OR_RETURN(SignatureLine line, ParseSignature(text));
    RETURN_IF_ERROR(Judge(std::move(line), keys, &opened));
  }
  if (opened.verified.empty()) return Distrust("no verifiable signature");
  return opened;
}

absl::StatusOr<std::string> SignNote(std::string_view text, std::string_view name, const crypto::SigningKey& key) {
  if (!text.ends_with('\n') || !IsNoteText(text) || text.size() > kMaxNoteBytes / 2) return Malformed("text cannot be signed");
  if (!IsNoteName(name)) return Malformed("bad key name");
  const std::string signature = key.Sign(text);
  const uint32_t id = KeyId(name, NoteKeyType::kEd25519, key.public_key().bytes());
  return base::StrCat(text, '\n', kDash, name, ' ', base::Base64Encode(base::StrCat(BigEndian4(id), signature)), '\n');
}

std::string CheckpointText(const Checkpoint& checkpoint) {
  return base::StrCat(checkpoint.origin, '\n', checkpoint.size, '\n', base::Base64Encode(Bytes(checkpoint.root)), '\n');
}

absl::StatusOr<Checkpoint> ParseCheckpoint(std::string_view text) {
  std::string_view lines[3];
  for (std::string_view& line : lines) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || end == 0) return Malformed("a checkpoint has three lines");
    line = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  Checkpoint checkpoint;
  checkpoint.origin = std::string(lines[0]);
  const bool leading_zero = lines[1].size() > 1 && lines[1][0] == '0';
  if (leading_zero || !base::ParseInt(lines[1], &checkpoint.size)) return Malformed("bad tree size");
  std::string root;
  if (!DecodePadded(lines[2], &root) || !ToHash(root, &checkpoint.root)) return Malformed("bad root hash");
  return checkpoint;
}

absl::StatusOr<Checkpoint> OpenCheckpoint(std::string_view note, std::span<const NoteKey> keys) {
  ASSIGN_OR_RETURN(const Note opened, OpenNote(note, keys));
  ASSIGN_OR_RETURN(Checkpoint checkpoint, ParseCheckpoint(opened.text));
  for (const NoteSignature& signature : opened.verified) {
    const bool log_key = std::any_of(keys.begin(), keys.end(), [&](const NoteKey& key) {
      return key.id == signature.key_id && key.name == signature.name && key.type == NoteKeyType::kEd25519;
    });
    if (log_key && signature.name == checkpoint.origin) return checkpoint;
  }
  return Distrust("the checkpoint is not signed by the log it names");
}

}  // namespace credbroker::audit
