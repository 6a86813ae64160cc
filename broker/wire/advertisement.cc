#include "wire/advertisement.h"

#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::wire {
namespace {

// body := PKT("# service=git-receive-pack" LF) flush [ PKT("version 1" LF) ] PKT(id SP ref NUL capabilities LF) *refs
// flush An empty repository has the ref name `capabilities^{}`.
// version 2 := [ PKT("# service=git-upload-pack" LF) flush ] PKT("version 2" LF) *PKT(capability [ "=" words ] LF) flush

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

// One line of version 2's offer.
void AdvertisementFilter::TakeOffer(std::string_view payload, std::string_view raw, std::string* out) {
  const std::string_view line = ChompLine(payload);
  if (IsCapability(line, "bundle-uri")) return;
  if (!line.starts_with("fetch=")) {
    out->append(raw);
    return;
  }
  std::string kept;
  std::string_view words = line.substr(6);
  while (!words.empty()) {
    const std::size_t space = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, space);
    words.remove_prefix(std::min(space + 1, words.size()));
    if (word != "packfile-uris" && !word.empty()) base::StrAppend(&kept, kept.empty() ? "=" : " ", word);
  }
  AppendPkt(base::StrCat("fetch", kept, payload.ends_with('\n') ? "\n" : ""), out);
}

absl::Status AdvertisementFilter::TakePkt(const Pkt& pkt, std::string_view raw, std::string* out) {
  const bool fetch = edits_.service == AdvertisementEdits::Service::kUploadPack;
  const std::string_view line = pkt.kind == PktKind::kData ? ChompLine(pkt.payload) : std::string_view();
  // Refs are behind it in versions 0 and 1, which have neither.
  if (fetch && state_ == State::kFirstRef && line != "version 2") state_ = State::kRest;
  switch (state_) {
    case State::kService:
      if (fetch && line.starts_with("ERR ")) {
        state_ = State::kRest;
        break;
      }
      if (line != (fetch ? "# service=git-upload-pack" : "# service=git-receive-pack") && !(fetch && line == "version 2")) {
        return Malformed("the advertisement is for another service");
      }
      state_ = line == "version 2" ? State::kOffer : State::kServiceFlush;
      break;
    case State::kServiceFlush:
      if (pkt.kind != PktKind::kFlush) return Malformed("no flush behind the service line");
      state_ = State::kFirstRef;
      break;
    case State::kOffer:
      if (pkt.kind == PktKind::kData) {
        TakeOffer(pkt.payload, raw, out);
        return absl::OkStatus();
      }
      state_ = State::kRest;
      break;
    case State::kRest: break;
    case State::kFirstRef:
      if (fetch) {
        state_ = State::kOffer;
        break;
      }
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
