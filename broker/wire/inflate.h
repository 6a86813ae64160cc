#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace credbroker::wire {

enum class Coding { kIdentity, kGzip, kDeflate };

// Reads a Content-Encoding value: absent (empty), identity, gzip, x-gzip, deflate, in any letter case. None for
// everything else, a list of codings included.
std::optional<Coding> ParseCoding(std::string_view content_encoding);

struct InflateLimits {
  std::uint64_t max_output_bytes = 64 * 1024 * 1024;
  // Output per input byte, judged once the output is past 1 MiB.
  std::uint64_t max_ratio = 200;
};

// Decodes gzip or deflate (with or without zlib's frame) as a stream. One gzip member; bytes behind it are refused,
// since readers differ about them. Not thread-safe.
class Inflater {
 public:
  Inflater(Coding coding, const InflateLimits& limits);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends the decoded bytes. kBodyTooLarge above a limit, kUnsupportedCoding for broken data; no use after an error.
  absl::Status Feed(std::string_view in, std::string* out);
  // At the end of the body: kUnsupportedCoding if the data was cut short.
  absl::Status Finish() const;

 private:
  struct Stream;  // keeps zlib's header out of this one
  absl::Status Start(std::string_view first);
  absl::Status Run(std::string_view in, std::string* out);

  Coding coding_;
  InflateLimits limits_;
  std::unique_ptr<Stream> stream_;
  std::string first_;  // up to two bytes of a deflate body, until its frame is known
  std::uint64_t in_bytes_ = 0;
  std::uint64_t out_bytes_ = 0;
  bool ended_ = false;
};

// Decodes a whole body. kIdentity copies it (and checks max_output_bytes).
absl::Status InflateAll(Coding coding, const InflateLimits& limits, std::string_view body, std::string* out);

}  // namespace credbroker::wire
