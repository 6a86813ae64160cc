// Signed notes, keys, checkpoints and proofs from strangers: refused or understood, and never believed by accident.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "audit/note.h"
#include "audit/prove.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace credbroker::audit;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Nobody holds the private half of this key, so nothing can be signed by it.
  static const NoteKey key = MakeNoteKey("ledger.test", std::string(32, '\x5a'));
  if (OpenNote(bytes, {&key, 1}).ok()) std::abort();
  if (CheckProof(bytes, "{}", NoteKeyText(key)).ok()) std::abort();
  if (const auto parsed = ParseNoteKey(bytes); parsed.ok()) {
    const auto again = ParseNoteKey(NoteKeyText(*parsed));
    if (!again.ok() || again->id != parsed->id || again->name != parsed->name) std::abort();
  }
  if (const auto checkpoint = ParseCheckpoint(bytes); checkpoint.ok()) {
    const auto again = ParseCheckpoint(CheckpointText(*checkpoint));
    if (!again.ok() || again->size != checkpoint->size || again->root != checkpoint->root) std::abort();
  }
  return 0;
}
