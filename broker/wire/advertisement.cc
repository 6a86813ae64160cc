#include "wire/advertisement.h"

#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::wire {
namespace {

// body := PKT("# service=git-receive-pack" LF) flush [ PKT("version 1" LF) ] PKT(id SP ref NUL capabilities LF) *refs
// flush An empty repository has the ref name `capabilities^{}`.

absl::Status Malformed(const char* detail) { return base::Error(base::ErrorCode::kUpstreamMalformed, detail); }

bool IsCapability(std::string_view word, std::string_view name) {
  return word == name || (word.starts_with(name) && word.substr(name.size()).starts_with('='));
}

std::string EditCapabilities(std::string_view words, const AdvertisementEdits& edits) {
  std::string out;
  bool no_thin = false;
  while (!words.empty()) {
    const std::size_t space = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, space);
    words.remove_prefix(std::min(space + 1, words.size()));
    const bool removed =
        IsCapability(word, "push-cert") || (edits.remove_push_options && IsCapability(word, "push-options"));
    if (word.empty() || removed) continue;
    no_thin = no_thin || word == "no-thin";
    base::StrAppend(&out, out.empty() ? "" : " ", word);
  }
  if (edits.add_no_thin && !no_thin) base::StrAppend(&out, out.empty() ? "" : " ", "no-thin");
  return out;
}

}  // namespace

absl::Status AdvertisementFilter::Feed(std::string_view in, std::string* out) {
  if (state_ == State::kRest) {
    out->append(in);
    return absl::OkStatus();
  }
  held_.append(in);
  std::size_t at = 0;
  while (state_ != State::kRest) {
    Pkt pkt;
    const std::string_view rest = std::string_view(held_).substr(at);
    const ParseResult result = ParsePkt(rest, &pkt);
    if (result.failed()) return Malformed("the advertisement is not made of packet lines");
    if (result.need_more()) {
      held_.erase(0, at);
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(TakePkt(pkt, rest.substr(0, result.consumed), out));
    at += result.consumed;
  }
  out->append(held_, at);
  held_ = {};
  return absl::OkStatus();
}

absl::Status AdvertisementFilter::TakePkt(const Pkt& pkt, std::string_view raw, std::string* out) {
  switch (state_) {
    case State::kService:
      if (pkt.kind != PktKind::kData || ChompLine(pkt.payload) != "# service=git-receive-pack") {
        return Malformed("the advertisement is for another service");
      }
      state_ = State::kServiceFlush;
      break;
    case State::kServiceFlush:
      if (pkt.kind != PktKind::kFlush) return Malformed("no flush behind the service line");
      state_ = State::kFirstRef;
      break;
    case State::kFirstRef:
    case State::kRest:
      if (pkt.kind != PktKind::kData) return Malformed("no ref in the advertisement");
      return TakeFirstRef(pkt.payload, raw, out);
  }
  out->append(raw);
  return absl::OkStatus();
}

absl::Status AdvertisementFilter::TakeFirstRef(std::string_view payload, std::string_view raw, std::string* out) {
  if (ChompLine(payload) == "version 1") {
    out->append(raw);
    return absl::OkStatus();
  }
  state_ = State::kRest;
  if (payload.starts_with("ERR ")) {
    out->append(raw);
    return absl::OkStatus();
  }
  const std::size_t nul = payload.find('\0');
  if (nul == std::string_view::npos) return Malformed("the first ref has no capabilities");
  const std::string_view words = ChompLine(payload.substr(nul + 1));
  const std::string edited =
      base::StrCat(payload.substr(0, nul + 1), EditCapabilities(words, edits_), payload.ends_with('\n') ? "\n" : "");
  if (edited.size() > kMaxPktPayload) return Malformed("the first ref is too long");
  AppendPkt(edited, out);
  return absl::OkStatus();
}

absl::Status AdvertisementFilter::Finish() const {
  return state_ == State::kRest ? absl::OkStatus() : Malformed("the advertisement ends before its first ref");
}

}  // namespace credbroker::wire
