#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "wire/pack_store.h"

namespace credbroker::wire {

// A pack in memory, read as one that was spooled.
class MemoryStore final : public ByteStore {
 public:
  explicit MemoryStore(std::string bytes) : bytes_(std::move(bytes)) {}
  bool ReadAt(uint64_t offset, char* out, std::size_t size) override {
    if (offset > bytes_.size() || bytes_.size() - offset < size) return false;
    std::memcpy(out, bytes_.data() + offset, size);
    return true;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Fed in pieces of an odd size, then resolved to the end.
inline absl::Status ReadPack(MemoryStore& bytes, PackStore& store, std::size_t step = 777) {
  for (std::size_t at = 0; at < bytes.bytes().size(); at += step) {
    if (absl::Status status = store.Feed(std::string_view(bytes.bytes()).substr(at, step)); !status.ok()) return status;
  }
  if (absl::Status status = store.Finish(); !status.ok()) return status;
  while (true) {
    const auto done = store.Resolve(bytes);
    if (!done.ok()) return done.status();
    if (*done) return absl::OkStatus();
  }
}

}  // namespace credbroker::wire
