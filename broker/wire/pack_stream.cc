#include "wire/pack_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/macros.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

// Small enough that a bomb is noticed before much of it went off.
constexpr std::size_t kMaxOffered = 64 * 1024;
constexpr uint64_t kRatioGrace = uint64_t{64} << 20;

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadGitRequest, why); }
absl::Status TooLarge(std::string_view why) { return base::Error(ErrorCode::kBodyTooLarge, why); }

}  // namespace

class PackStream::Impl {
 public:
  Impl(ObjectFormat format, const PackStreamLimits& limits, PackSink& sink)
      : limits_(limits), sink_(sink), id_bytes_(format == ObjectFormat::kSha1 ? 20 : 32), checksum_(format) {}
  ~Impl() {
    if (zlib_open_) inflateEnd(&zlib_);
  }

  absl::Status Feed(std::string_view bytes) {
    while (failure_.ok() && !bytes.empty()) failure_ = Step(&bytes);
    return failure_;
  }

  absl::Status Finish() {
    if (failure_.ok() && !finished_) failure_ = CheckEnd();
    finished_ = true;
    return failure_;
  }

  bool finished() const { return finished_ && failure_.ok(); }

  absl::Status CountInflated(uint64_t size) {
    inflated_ += size;
    if (inflated_ > limits_.max_inflated_bytes) return TooLarge("inflated");
    const uint64_t past_grace = inflated_ > kRatioGrace ? inflated_ - kRatioGrace : 0;
    return past_grace / (offset_ + kMaxOffered) > limits_.max_ratio ? TooLarge("ratio") : absl::OkStatus();
  }

 private:
  enum class State { kHeader, kObject, kBase, kData, kTrailer };

  absl::Status Step(std::string_view* bytes) {
    switch (state_) {
      case State::kHeader:
        return ReadHeader(bytes);
      case State::kObject:
        return ReadObjectHead(bytes);
      case State::kBase:
        return head_.type == PackType::kIdDelta ? ReadBaseId(bytes) : ReadBaseOffset(bytes);
      case State::kData:
        return ReadData(bytes);
      case State::kTrailer:
        break;
    }
    if (bytes->size() > id_bytes_ - held_.size()) return Bad("bytes after the pack");
    held_.append(*bytes);
    *bytes = {};
    return absl::OkStatus();
  }

  absl::Status CheckEnd() {
    if (state_ != State::kTrailer || held_.size() != id_bytes_) return Bad("the pack is cut");
    return checksum_.Take() == held_ ? absl::OkStatus() : Bad("the pack's checksum is wrong");
  }

  void Consume(std::string_view* bytes, std::size_t size) {
    checksum_.Add(bytes->substr(0, size));
    bytes->remove_prefix(size);
    offset_ += size;
  }

  // Moves up to what is missing to `want` bytes into held_. True when they are there.
  bool Hold(std::string_view* bytes, std::size_t want) {
    const std::size_t take = std::min(want - held_.size(), bytes->size());
    held_.append(bytes->substr(0, take));
    Consume(bytes, take);
    return held_.size() == want;
  }

  absl::Status ReadHeader(std::string_view* bytes) {
    if (!Hold(bytes, 12)) return absl::OkStatus();
    const auto word = [&](std::size_t at) {
      uint32_t value = 0;
      for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(held_[at + i]);
      return value;
    };
    if (!held_.starts_with("PACK") || (word(4) != 2 && word(4) != 3)) return Bad("not a pack of version 2 or 3");
    left_ = word(8);
    if (left_ > limits_.max_objects) return TooLarge("too many objects");
    StartObject();
    return absl::OkStatus();
  }

  void StartObject() {
    held_.clear();
    state_ = left_ == 0 ? State::kTrailer : State::kObject;
    head_ = {};
    head_.offset = offset_;
  }

  // head := more:1 type:3 size:4 (more:1 size:7)*      least significant first
  absl::Status ReadObjectHead(std::string_view* bytes) {
    while (Hold(bytes, held_.size() + 1)) {
      const auto byte = static_cast<uint8_t>(held_.back());
      if (held_.size() == 1) {
        type_ = byte >> 4 & 7;
        head_.size = byte & 15;
      } else {
        const std::size_t shift = 4 + 7 * (held_.size() - 2);
        if (shift > 53) return Bad("object size");
        head_.size |= static_cast<uint64_t>(byte & 0x7F) << shift;
      }
      if ((byte & 0x80) != 0) continue;
      held_.clear();
      if (type_ == 0 || type_ == 5) return Bad("object type");
      head_.type = static_cast<PackType>(type_);
      if (head_.type != PackType::kOffsetDelta && head_.type != PackType::kIdDelta) return StartData();
      state_ = State::kBase;
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status ReadBaseId(std::string_view* bytes) {
    if (!Hold(bytes, id_bytes_)) return absl::OkStatus();
    head_.base_id = held_;
    return StartData();
  }

  // base offset := (more:1 distance:7)+      most significant first, one added for each byte but the last
  absl::Status ReadBaseOffset(std::string_view* bytes) {
    while (Hold(bytes, held_.size() + 1)) {
      const auto byte = static_cast<uint8_t>(held_.back());
      if (held_.size() > 9) return Bad("base offset");
      distance_ = held_.size() == 1 ? byte & 0x7F : ((distance_ + 1) << 7 | (byte & 0x7F));
      if ((byte & 0x80) != 0) continue;
      if (distance_ == 0 || distance_ >= head_.offset) return Bad("base offset");
      head_.base_offset = head_.offset - distance_;
      return StartData();
    }
    return absl::OkStatus();
  }

  absl::Status StartData() {
    state_ = State::kData;
    got_ = 0;
    head_.data = offset_;
    PackSink::Want want = PackSink::Want::kContent;
    const absl::Status begun = sink_.Begin(head_, &want);
    head_.base_id = {};
    held_.clear();
    RETURN_IF_ERROR(begun);
    wanted_ = want == PackSink::Want::kContent;
    // One state for all objects: to set one up costs more than most objects do.
    if (zlib_open_) return inflateReset(&zlib_) == Z_OK ? absl::OkStatus() : base::Error(ErrorCode::kInternal, "zlib");
    zlib_open_ = inflateInit(&zlib_) == Z_OK;
    return zlib_open_ ? absl::OkStatus() : base::Error(ErrorCode::kOverloaded, "no memory to read a pack");
  }

  absl::Status ReadData(std::string_view* bytes) {
    std::array<char, 16384> out;
    const std::size_t offered = std::min(bytes->size(), kMaxOffered);
    zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes->data()));
    zlib_.avail_in = static_cast<uInt>(offered);
    int result = Z_OK;
    do {
      zlib_.next_out = reinterpret_cast<Bytef*>(out.data());
      zlib_.avail_out = out.size();
      result = inflate(&zlib_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return Bad("object data");
      RETURN_IF_ERROR(TakeInflated({out.data(), out.size() - zlib_.avail_out}));
    } while (result == Z_OK && zlib_.avail_out == 0);
    const std::size_t used = offered - zlib_.avail_in;
    Consume(bytes, used);
    if (result == Z_STREAM_END) return EndObject();
    return used == 0 ? Bad("object data") : absl::OkStatus();
  }

  absl::Status TakeInflated(std::string_view piece) {
    got_ += piece.size();
    if (got_ > head_.size) return Bad("an object is longer than it says");
    if (wanted_ && !piece.empty()) RETURN_IF_ERROR(sink_.Content(piece));
    return CountInflated(piece.size());
  }

  absl::Status EndObject() {
    if (got_ != head_.size) return Bad("an object is shorter than it says");
    RETURN_IF_ERROR(sink_.End());
    --left_;
    StartObject();
    return absl::OkStatus();
  }

  const PackStreamLimits limits_;
  PackSink& sink_;
  const std::size_t id_bytes_;
  crypto::ObjectHash checksum_;
  State state_ = State::kHeader;
  absl::Status failure_;
  bool finished_ = false;
  std::string held_;     // of a head that is not whole yet
  uint64_t offset_ = 0;  // in the pack
  uint64_t inflated_ = 0;
  uint64_t left_ = 0;  // objects

  // The object under way.
  PackObjectHead head_;
  int type_ = 0;
  uint64_t got_ = 0;
  uint64_t distance_ = 0;
  bool wanted_ = false;
  z_stream zlib_{};
  bool zlib_open_ = false;
};

PackStream::PackStream(ObjectFormat format, const PackStreamLimits& limits, PackSink& sink)
    : impl_(std::make_unique<Impl>(format, limits, sink)) {}
PackStream::~PackStream() = default;
absl::Status PackStream::Feed(std::string_view bytes) { return impl_->Feed(bytes); }
absl::Status PackStream::Finish() { return impl_->Finish(); }
bool PackStream::finished() const { return impl_->finished(); }
absl::Status PackStream::CountInflated(uint64_t size) { return impl_->CountInflated(size); }

}  // namespace credbroker::wire
