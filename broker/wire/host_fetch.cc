#include "wire/host_fetch.h"

#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "wire/receive_pack.h"

namespace credbroker::wire {
namespace {

using crypto::ObjectFormat;

absl::Status Bad(std::string_view why) { return base::Error(base::ErrorCode::kUpstreamMalformed, why); }

std::size_t DigitsOf(ObjectFormat format) { return format == ObjectFormat::kSha1 ? 40 : 64; }

bool IsId(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string_view TakeWord(std::string_view* text) {
  const std::size_t space = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, space);
  text->remove_prefix(std::min(space + 1, text->size()));
  return word;
}

// command := PKT("command=" name LF) PKT("agent=..." LF) PKT("object-format=..." LF) delimiter *argument flush
std::string Command(std::string_view name, ObjectFormat format, const std::vector<std::string>& arguments) {
  std::string out;
  AppendPkt(base::StrCat("command=", name, "\n"), &out);
  AppendPkt("agent=git/credbroker\n", &out);
  AppendPkt(format == ObjectFormat::kSha1 ? "object-format=sha1\n" : "object-format=sha256\n", &out);
  out += "0001";
  for (const std::string& argument : arguments) AppendPkt(argument + "\n", &out);
  AppendFlush(&out);
  return out;
}

}  // namespace

absl::StatusOr<HostOffer> ReadHostOffer(std::string_view body) {
  HostOffer out;
  bool versioned = false;
  Pkt pkt;
  for (std::size_t at = 0; at < body.size();) {
    const ParseResult result = ParsePkt(body.substr(at), &pkt);
    if (!result.complete()) return Bad("the host's offer is not made of packet lines");
    at += result.consumed;
    if (pkt.kind == PktKind::kFlush && !versioned) continue;  // behind `# service=`, which some hosts write
    if (pkt.kind == PktKind::kFlush) return out;
    if (pkt.kind != PktKind::kData) return Bad("the host's offer");
    std::string_view line = ChompLine(pkt.payload);
    if (!versioned && line == "# service=git-upload-pack") continue;
    if (!versioned && line != "version 2") return Bad("the host does not speak version 2 of the protocol");
    versioned = true;
    if (line == "ls-refs" || line.starts_with("ls-refs=")) out.refs = true;
    if (line == "object-format=sha256") out.format = ObjectFormat::kSha256;
    if (!line.starts_with("fetch=")) continue;
    line.remove_prefix(6);
    while (!line.empty()) {
      const std::string_view word = TakeWord(&line);
      out.shallow = out.shallow || word == "shallow";
      out.filter = out.filter || word == "filter";
    }
  }
  return Bad("the host's offer is cut");
}

std::string RefsRequest(ObjectFormat format) {
  return Command("ls-refs", format, {"peel", "ref-prefix refs/heads/", "ref-prefix refs/tags/"});
}

absl::StatusOr<std::vector<HostRef>> ReadHostRefs(std::string_view body, ObjectFormat format, std::size_t max_refs) {
  std::vector<HostRef> out;
  Pkt pkt;
  for (std::size_t at = 0; at < body.size();) {
    const ParseResult result = ParsePkt(body.substr(at), &pkt);
    if (!result.complete()) return Bad("the host's refs are not made of packet lines");
    at += result.consumed;
    if (pkt.kind == PktKind::kFlush) return at == body.size() ? absl::StatusOr<std::vector<HostRef>>(std::move(out)) : Bad("bytes behind the host's refs");
    if (pkt.kind != PktKind::kData) return Bad("the host's refs");
    std::string_view line = ChompLine(pkt.payload);
    HostRef ref;
    ref.id = TakeWord(&line);
    if (!IsId(ref.id, DigitsOf(format))) return Bad("a ref without an id");  // `unborn` is not asked for
    ref.name = TakeWord(&line);
    while (!line.empty()) {
      const std::string_view word = TakeWord(&line);
      if (word.starts_with("peeled:") && IsId(word.substr(7), DigitsOf(format))) ref.peeled = word.substr(7);
    }
    const bool ours = ref.name.starts_with("refs/heads/") || ref.name.starts_with("refs/tags/");
    if (!ours || !IsWellFormedRef(ref.name)) continue;
    if (out.size() == max_refs) return Bad("the host has too many refs to look at");
    out.push_back(std::move(ref));
  }
  return Bad("the host's refs are cut");
}

std::string HistoryRequest(const HostOffer& offer, const std::vector<std::string>& tips, std::string_view have) {
  std::vector<std::string> arguments = {"no-progress", "ofs-delta"};
  for (const std::string& tip : tips) arguments.push_back("want " + tip);
  arguments.push_back(base::StrCat("have ", have));
  if (offer.filter) arguments.push_back("filter tree:0");
  arguments.push_back("done");
  return Command("fetch", offer.format, arguments);
}

std::string TreesRequest(const HostOffer& offer, const std::vector<std::string>& ids) {
  std::vector<std::string> arguments = {"no-progress", "ofs-delta"};
  for (const std::string& id : ids) arguments.push_back("want " + id);
  arguments.push_back("deepen 1");
  if (offer.filter) arguments.push_back("filter blob:none");
  arguments.push_back("done");
  return Command("fetch", offer.format, arguments);
}

absl::Status FetchReply::Feed(std::string_view bytes, std::string* pack) {
  held_.append(bytes);
  std::size_t at = 0;
  Pkt pkt;
  while (at < held_.size()) {
    const std::string_view rest = std::string_view(held_).substr(at);
    const ParseResult result = ParsePkt(rest, &pkt);
    if (result.failed()) return Bad("the answer is not made of packet lines");
    if (result.need_more()) break;
    RETURN_IF_ERROR(TakePkt(pkt, pack));
    at += result.consumed;
  }
  held_.erase(0, at);
  return absl::OkStatus();
}

absl::Status FetchReply::TakePkt(const Pkt& pkt, std::string* pack) {
  const std::string_view line = pkt.kind == PktKind::kData ? ChompLine(pkt.payload) : std::string_view();
  switch (state_) {
    case State::kSection:
      if (line == "packfile") {
        state_ = State::kPack;
        return absl::OkStatus();
      }
      if (line != "acknowledgments" && line != "shallow-info") return Bad("a section that was not asked for, or an error");
      state_ = State::kLines;
      return absl::OkStatus();
    case State::kLines:
      if (pkt.kind == PktKind::kDelimiter) state_ = State::kSection;
      return pkt.kind == PktKind::kData || pkt.kind == PktKind::kDelimiter ? absl::OkStatus() : Bad("no pack in the answer");
    case State::kPack:
      if (pkt.kind == PktKind::kFlush) {
        state_ = State::kEnd;
        return absl::OkStatus();
      }
      if (pkt.kind != PktKind::kData || pkt.payload.empty()) return Bad("the answer's side-band");
      if (pkt.payload.front() == 1) pack->append(pkt.payload.substr(1));
      return pkt.payload.front() == 1 || pkt.payload.front() == 2 ? absl::OkStatus() : Bad("the host reports an error");
    case State::kEnd: break;
  }
  return Bad("bytes behind the answer");
}

absl::Status FetchReply::Finish() const {
  return state_ == State::kEnd && held_.empty() ? absl::OkStatus() : Bad("the answer is cut");
}

}  // namespace credbroker::wire
