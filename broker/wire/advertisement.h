#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "wire/pktline.h"

namespace credbroker::wire {

struct AdvertisementEdits {
  enum class Service { kReceivePack, kUploadPack };
  Service service = Service::kReceivePack;
  // For pushes.
  bool remove_push_options = true;  // an option can change what a push does at the host
  bool add_no_thin = false;         // asks the client for packs that can be read without the repository
};

// Edits the upstream's answer to `info/refs?service=...` while it streams. For pushes it takes push-cert (always) and
// push-options out of the capabilities of the first ref, so that the client never sends what we refuse. For fetches under
// version 2 it takes out bundle-uri and fetch's packfile-uris: both hand out addresses on other hosts. All else passes byte
// for byte; at most one packet is held back. Use on status 200 with the advertisement's content type only.
class AdvertisementFilter {
 public:
  explicit AdvertisementFilter(const AdvertisementEdits& edits = {}) : edits_(edits) {}

  // Appends to `out` what may be sent. kUpstreamMalformed if it is no such advertisement; the answer must be cut then.
  absl::Status Feed(std::string_view in, std::string* out);
  // At the end of the body. kUpstreamMalformed if it ends before the first ref.
  absl::Status Finish() const;

 private:
  enum class State { kService, kServiceFlush, kFirstRef, kOffer, kRest };
  absl::Status TakePkt(const Pkt& pkt, std::string_view raw, std::string* out);
  void TakeOffer(std::string_view payload, std::string_view raw, std::string* out);
  absl::Status TakeFirstRef(std::string_view payload, std::string_view raw, std::string* out);

  AdvertisementEdits edits_;
  State state_ = State::kService;
  std::string held_;
};

}  // namespace credbroker::wire
