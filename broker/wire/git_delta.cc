#include "wire/git_delta.h"

#include <cstdint>

namespace credbroker::wire {
namespace {

bool TakeByte(std::string_view* bytes, uint8_t* out) {
  if (bytes->empty()) return false;
  *out = static_cast<uint8_t>(bytes->front());
  bytes->remove_prefix(1);
  return true;
}

bool TakeSize(std::string_view* bytes, uint64_t* out) {
  *out = 0;
  uint8_t byte = 0x80;
  for (int shift = 0; (byte & 0x80) != 0; shift += 7) {
    if (shift > 49 || !TakeByte(bytes, &byte)) return false;
    *out |= static_cast<uint64_t>(byte & 0x7F) << shift;
  }
  return true;
}

// The bytes of a number that `mask` says are there, least significant first.
bool TakeMasked(std::string_view* bytes, unsigned mask, int count, uint64_t* out) {
  *out = 0;
  for (int i = 0; i < count; ++i) {
    uint8_t byte = 0;
    if ((mask >> i & 1) == 0) continue;
    if (!TakeByte(bytes, &byte)) return false;
    *out |= static_cast<uint64_t>(byte) << (8 * i);
  }
  return true;
}

}  // namespace

bool ApplyGitDelta(std::string_view base, std::string_view delta, std::size_t max_bytes, std::string* out) {
  out->clear();
  uint64_t base_size = 0, result_size = 0;
  if (!TakeSize(&delta, &base_size) || !TakeSize(&delta, &result_size)) return false;
  if (base_size != base.size() || result_size > max_bytes) return false;
  out->reserve(result_size);
  uint8_t op = 0;
  while (TakeByte(&delta, &op)) {
    std::string_view piece;
    if ((op & 0x80) != 0) {
      uint64_t offset = 0, size = 0;
      if (!TakeMasked(&delta, op & 0x0F, 4, &offset) || !TakeMasked(&delta, op >> 4 & 7, 3, &size)) return false;
      if (size == 0) size = 0x10000;
      if (offset > base.size() || size > base.size() - offset) return false;
      piece = base.substr(offset, size);
    } else {
      if (op == 0 || op > delta.size()) return false;
      piece = delta.substr(0, op);
      delta.remove_prefix(op);
    }
    if (piece.size() > result_size - out->size()) return false;
    out->append(piece);
  }
  return out->size() == result_size;
}

}  // namespace credbroker::wire
