#include "fuzz_bytes.h"
#include "wire/advertisement.h"

using namespace credbroker;

namespace {

using Edits = wire::AdvertisementEdits;

bool Filter(std::string_view body, std::size_t piece, Edits::Service service, std::string* out) {
  wire::AdvertisementFilter filter({.service = service, .add_no_thin = true});
  for (std::size_t at = 0; at < body.size(); at += piece) {
    if (!filter.Feed(body.substr(at, piece), out).ok()) return false;
  }
  return filter.Finish().ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::View(data, size);
  for (const Edits::Service service : {Edits::Service::kReceivePack, Edits::Service::kUploadPack}) {
    std::string whole, slow, again;
    const bool taken = Filter(body, size + 1, service, &whole);
    fuzz::Require(Filter(body, size / 50 + 1, service, &slow) == taken);
    if (!taken) continue;
    fuzz::Require(slow == whole);
    fuzz::Require(Filter(whole, 100, service, &again) && again == whole);
  }
  return 0;
}
