#include "wire/receive_pack.h"

#include <algorithm>

#include "wire/chars.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

// body     := *shallow commands flush [ *option flush ] [ "PACK" ... ]      each line a packet, at most one LF at its
// end shallow  := "shallow" SP id commands := old SP new SP ref [ NUL capabilities ]                       capabilities
// in the first one only The command list ends at a flush for us; git's server also ends it at other special packets, so
// these are refused.

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

bool IsId(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZeroId(std::string_view id) { return id.find_first_not_of('0') == std::string_view::npos; }

bool IsCertificate(std::string_view line) { return line.substr(0, line.find('\0')) == "push-cert"; }

}  // namespace

bool PushRequest::Has(std::string_view capability) const {
  return std::find(capabilities.begin(), capabilities.end(), capability) != capabilities.end();
}

void ReceivePackParser::Defer(ErrorCode code) {
  if (deferred_ == ErrorCode::kNone) deferred_ = code;
}

ParseResult ReceivePackParser::Parse(std::string_view body, EndOfBody end) {
  while (section_ != Section::kPack) {
    Pkt pkt;
    const ParseResult result = ParsePkt(body.substr(offset_), &pkt);
    if (result.failed()) return result;
    if (result.need_more() && body.size() >= limits_.max_list_bytes) return ParseResult::Fail(ErrorCode::kBodyTooLarge);
    if (result.need_more()) return end == EndOfBody::kYes ? ParseResult::Fail(ErrorCode::kBadGitRequest) : result;
    offset_ += result.consumed;
    if (offset_ > limits_.max_list_bytes) return ParseResult::Fail(ErrorCode::kBodyTooLarge);
    if (const ErrorCode error = TakePkt(pkt); error != ErrorCode::kNone) return ParseResult::Fail(error);
  }
  return FinishAtPack(body, end);
}

ErrorCode ReceivePackParser::TakePkt(const Pkt& pkt) {
  if (pkt.kind == PktKind::kDelimiter || pkt.kind == PktKind::kResponseEnd) return ErrorCode::kBadGitRequest;
  if (pkt.kind == PktKind::kData) {
    return section_ == Section::kCommands ? TakeCommandLine(pkt.payload) : TakeOption(ChompLine(pkt.payload));
  }
  const bool options_follow = section_ == Section::kCommands && request_.Has("push-options");
  section_ = options_follow ? Section::kOptions : Section::kPack;
  return ErrorCode::kNone;
}

ErrorCode ReceivePackParser::TakeCommandLine(std::string_view payload) {
  std::string_view line = ChompLine(payload);
  if (IsCertificate(line)) return ErrorCode::kPushCertificate;
  if (line.starts_with("shallow ")) {
    const std::string_view id = line.substr(8);
    if ((id.size() != 40 && id.size() != 64) || !IsId(id)) return ErrorCode::kBadGitRequest;
    if (shallow_digits_ != 0 && shallow_digits_ != id.size()) return ErrorCode::kBadGitRequest;
    shallow_digits_ = id.size();
    request_.shallow.emplace_back(id);
    if (limits_.shallow == ShallowLines::kRefuse) Defer(ErrorCode::kShallowPush);
    return ErrorCode::kNone;
  }
  const std::size_t nul = line.find('\0');
  if (nul != std::string_view::npos) {
    // The server reads capabilities from any line; one place means one reading.
    if (!request_.commands.empty()) return ErrorCode::kBadGitRequest;
    if (const ErrorCode error = TakeCapabilities(line.substr(nul + 1)); error != ErrorCode::kNone) return error;
    line = line.substr(0, nul);
  }
  return TakeCommand(line);
}

ErrorCode ReceivePackParser::TakeCommand(std::string_view line) {
  if (request_.commands.size() == limits_.max_commands) return ErrorCode::kTooManyRefs;
  // Without an object-format the server takes the ids for SHA-1.
  if (id_digits_ == 0) id_digits_ = 40;
  const std::size_t digits = id_digits_;
  if (line.size() <= 2 * digits + 2 || line[digits] != ' ' || line[2 * digits + 1] != ' ')
    return ErrorCode::kBadGitRequest;

  PushCommand command;
  command.old_id = line.substr(0, digits);
  command.new_id = line.substr(digits + 1, digits);
  command.ref = line.substr(2 * digits + 2);
  const bool create = IsZeroId(command.old_id);
  const bool remove = IsZeroId(command.new_id);
  if (!IsId(command.old_id) || !IsId(command.new_id) || (create && remove)) return ErrorCode::kBadGitRequest;
  command.kind = create ? PushKind::kCreate : remove ? PushKind::kDelete : PushKind::kUpdate;
  if (!IsPushableRef(command.ref)) Defer(ErrorCode::kOddRef);
  if (!refs_.insert(command.ref).second) Defer(ErrorCode::kBadGitRequest);
  request_.has_pack = request_.has_pack || !remove;
  request_.commands.push_back(std::move(command));
  return ErrorCode::kNone;
}

ErrorCode ReceivePackParser::TakeCapabilities(std::string_view text) {
  if (HasControl(text)) return ErrorCode::kBadGitRequest;  // a second NUL among them
  bool format_seen = false;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) continue;
    if (word.starts_with("object-format=")) {
      const std::string_view format = word.substr(14);
      if (format_seen || (format != "sha1" && format != "sha256")) return ErrorCode::kBadGitRequest;
      format_seen = true;
      id_digits_ = format == "sha1" ? 40 : 64;
    }
    request_.capabilities.emplace_back(word);
  }
  return ErrorCode::kNone;
}

ErrorCode ReceivePackParser::TakeOption(std::string_view line) {
  if (request_.options.size() == limits_.max_options || HasControl(line)) return ErrorCode::kBadGitRequest;
  request_.options.emplace_back(line);
  return ErrorCode::kNone;
}

ParseResult ReceivePackParser::FinishAtPack(std::string_view body, EndOfBody end) {
  constexpr std::string_view kPack = "PACK";
  const std::string_view rest = body.substr(offset_);
  if (deferred_ != ErrorCode::kNone) return ParseResult::Fail(deferred_);
  if (shallow_digits_ != 0 && shallow_digits_ != id_digits_) return ParseResult::Fail(ErrorCode::kBadGitRequest);
  const std::string_view expected = request_.has_pack ? kPack : std::string_view();
  const std::string_view start = rest.substr(0, kPack.size());
  if (!expected.starts_with(start)) return ParseResult::Fail(ErrorCode::kBadGitRequest);
  // A list of deletions is whole only when nothing follows it.
  const bool whole = request_.has_pack ? start == kPack : end == EndOfBody::kYes;
  if (!whole) return end == EndOfBody::kYes ? ParseResult::Fail(ErrorCode::kBadGitRequest) : ParseResult::NeedMore();
  request_.probe = request_.commands.empty();
  return ParseResult::Complete(offset_);
}

}  // namespace credbroker::wire
