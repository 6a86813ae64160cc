#include "fuzz_bytes.h"
#include "wire/inflate.h"

using namespace credbroker;

namespace {

bool Inflate(wire::Coding coding, std::string_view body, std::size_t piece, std::string* out) {
  wire::Inflater inflater(coding, {.max_output_bytes = 1024 * 1024});
  for (std::size_t at = 0; at < body.size(); at += piece) {
    if (!inflater.Feed(body.substr(at, piece), out).ok()) return false;
  }
  return inflater.Finish().ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::View(data, size);
  for (const wire::Coding coding : {wire::Coding::kGzip, wire::Coding::kDeflate}) {
    std::string whole, slow;
    const bool taken = Inflate(coding, body, size + 1, &whole);
    fuzz::Require(Inflate(coding, body, 3, &slow) == taken);
    fuzz::Require(!taken || slow == whole);
    fuzz::Require(whole.size() <= 1024 * 1024);
  }
  return 0;
}
