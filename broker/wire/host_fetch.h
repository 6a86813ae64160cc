#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "crypto/object_hash.h"
#include "wire/pktline.h"

namespace credbroker::wire {

// The edge's own fetch from a git host, protocol version 2 (gitprotocol-v2): what it asks, and what it reads in the answers,
// which are a stranger's bytes. Every failure is kUpstreamMalformed. Ids are lower-case hex.

// What the host offers.
struct HostOffer {
  bool refs = false;     // ls-refs
  bool shallow = false;  // fetch, with depths
  bool filter = false;   // fetch, with filters
  crypto::ObjectFormat format = crypto::ObjectFormat::kSha1;
};
// Reads the answer to `info/refs?service=git-upload-pack` under version 2.
absl::StatusOr<HostOffer> ReadHostOffer(std::string_view body);

struct HostRef {
  std::string name, id;
  std::string peeled;  // what a tag leads to, or empty
};
// The branches and tags of a host: nothing else, since anybody may make a ref of another kind (refs/pull/1/head).
std::string RefsRequest(crypto::ObjectFormat format);
// Reads its answer, at most `max_refs`. Other refs are dropped, so is what is not a name.
absl::StatusOr<std::vector<HostRef>> ReadHostRefs(std::string_view body, crypto::ObjectFormat format, std::size_t max_refs);

// Asks for what `tips` reach and `have` does not: commits alone where the host filters.
std::string HistoryRequest(const HostOffer& offer, const std::vector<std::string>& tips, std::string_view have);
// Asks for these objects, commits without their history, and the trees below: without blobs where the host filters.
std::string TreesRequest(const HostOffer& offer, const std::vector<std::string>& ids);

// Takes the pack out of the answer to either, as it streams by.
//
//   answer := *( section *line delimiter ) PKT("packfile" LF) *PKT(band data) flush
class FetchReply {
 public:
  // Appends to `pack` what belongs to it. An error that the host reports is a failure.
  absl::Status Feed(std::string_view bytes, std::string* pack);
  // At the end of the body: all of the answer must have come.
  absl::Status Finish() const;

 private:
  enum class State { kSection, kLines, kPack, kEnd };
  absl::Status TakePkt(const Pkt& pkt, std::string* pack);

  State state_ = State::kSection;
  std::string held_;
};

}  // namespace credbroker::wire
