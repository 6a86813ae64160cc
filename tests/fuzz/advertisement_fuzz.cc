#include "fuzz_bytes.h"
#include "wire/advertisement.h"

using namespace credbroker;

namespace {

bool Filter(std::string_view body, std::size_t piece, std::string* out) {
  wire::AdvertisementFilter filter({.add_no_thin = true});
  for (std::size_t at = 0; at < body.size(); at += piece) {
    if (!filter.Feed(body.substr(at, piece), out).ok()) return false;
  }
  return filter.Finish().ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::View(data, size);
  std::string whole, slow, again;
  const bool taken = Filter(body, size + 1, &whole);
  fuzz::Require(Filter(body, size / 50 + 1, &slow) == taken);
  if (!taken) return 0;
  fuzz::Require(slow == whole);
  fuzz::Require(Filter(whole, 100, &again) && again == whole);
  return 0;
}
