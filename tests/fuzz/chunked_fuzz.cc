#include "fuzz_bytes.h"
#include "wire/chunked.h"

using namespace credbroker;
using Kind = wire::ChunkStep::Kind;

namespace {

struct Outcome {
  std::string data;
  Kind end = Kind::kNeedMore;
  std::size_t consumed = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome Decode(std::string_view bytes, std::size_t piece) {
  wire::ChunkedDecoder decoder(wire::ChunkedDecoder::Side::kRequest);
  Outcome outcome;
  for (std::size_t given = 0; given < bytes.size();) {
    given = std::min(given + piece, bytes.size());
    do {
      const wire::ChunkStep step = decoder.Next(bytes.substr(outcome.consumed, given - outcome.consumed));
      outcome.consumed += step.consumed;
      outcome.data.append(step.data);
      outcome.end = step.kind;
    } while (outcome.end == Kind::kData);
    if (outcome.end != Kind::kNeedMore) break;
  }
  return outcome;
}

}  // namespace

// The data does not depend on the cuts, and what was read can be written and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  const Outcome whole = Decode(bytes, size + 1);
  fuzz::Require(Decode(bytes, 1) == whole && Decode(bytes, 7) == whole);
  std::string again;
  wire::AppendChunk(whole.data, &again);
  again.append(wire::kLastChunk);
  fuzz::Require(Decode(again, 5).data == whole.data);
  return 0;
}
