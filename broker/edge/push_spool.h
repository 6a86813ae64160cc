#pragma once

#include <cstdint>
#include <string>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "edge/body.h"
#include "wire/pack_store.h"

namespace credbroker::edge {

// A push that must be read whole before it goes on: a file without a name in the spool folder, gone with the object.
// Bounded; nothing of it stays on the disk (S20). Loop thread only.
class PushSpool final : public ContentSource, public wire::ByteStore {
 public:
  // Fails kFileUnwritable, kDiskFull.
  static absl::StatusOr<std::unique_ptr<PushSpool>> Create(const std::string& folder, std::size_t max_bytes);

  // Fails kBodyTooLarge, kDiskFull, kFileUnwritable.
  absl::Status Append(std::string_view bytes);
  uint64_t size() const { return size_; }
  bool ReadAt(uint64_t offset, char* out, std::size_t size) override;

  // Reading back, from the start.
  Step Next(std::string_view* piece) override;
  void Take() override { piece_.clear(); }
  base::ErrorCode error() const override { return error_; }

 private:
  PushSpool(base::Fd file, std::size_t max_bytes) : file_(std::move(file)), max_bytes_(max_bytes) {}

  base::Fd file_;
  const std::size_t max_bytes_;
  uint64_t size_ = 0;
  uint64_t read_ = 0;
  std::string piece_;
  base::ErrorCode error_ = base::ErrorCode::kNone;
};

}  // namespace credbroker::edge
