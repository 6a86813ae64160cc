#include "wire/upload_pack.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.h"
#include "wire/chars.h"
#include "wire/pktline.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

// v2 body := PKT("command=" name LF) *PKT(capability LF) ( delimiter arguments flush / flush )
// v0 body := PKT("want" SP id [ SP capabilities ] LF) ... / flush
constexpr std::size_t kMaxPackets = 64;
constexpr std::size_t kMaxBytes = 64 * 1024;

struct Command {
  std::string_view name;
  UploadCommand command;
};
constexpr Command kCommands[] = {
    {"ls-refs", UploadCommand::kLsRefs}, {"fetch", UploadCommand::kFetch}, {"object-info", UploadCommand::kObjectInfo}};

ErrorCode ReadCommand(std::string_view line, UploadCommand* out) {
  constexpr std::string_view kCommand = "command=";
  if (!line.starts_with(kCommand)) return ErrorCode::kBadGitRequest;
  line.remove_prefix(kCommand.size());
  for (const Command& known : kCommands) {
    if (known.name != line) continue;
    *out = known.command;
    return ErrorCode::kNone;
  }
  return ErrorCode::kGitNotSupported;
}

// True for a capability line that cannot be another command.
bool IsCapability(std::string_view line) {
  return !line.starts_with("command=") && line != "command" && chars::All(line, chars::kFieldChar);
}

bool IsWant(std::string_view line) {
  constexpr std::string_view kWant = "want ";
  if (!line.starts_with(kWant)) return false;
  line.remove_prefix(kWant.size());
  const std::string_view id = line.substr(0, line.find(' '));
  return (id.size() == 40 || id.size() == 64) && chars::All(id, chars::kHexDigit) &&
         chars::All(line, chars::kFieldChar);
}

ParseResult ParseV0(std::string_view body, UploadCommand* out) {
  Pkt pkt;
  const ParseResult result = ParsePkt(body, &pkt);
  if (!result.complete()) return result;
  const bool nothing = pkt.kind == PktKind::kFlush;
  if (!nothing && (pkt.kind != PktKind::kData || !IsWant(ChompLine(pkt.payload)))) {
    return ParseResult::Fail(ErrorCode::kBadGitRequest);
  }
  *out = nothing ? UploadCommand::kNothing : UploadCommand::kFetch;
  return result;
}

ParseResult ParseV2(std::string_view body, UploadCommand* out) {
  std::size_t at = 0;
  for (std::size_t count = 0; count < kMaxPackets; ++count) {
    Pkt pkt;
    const ParseResult result = ParsePkt(body.substr(at), &pkt);
    if (at + result.consumed > kMaxBytes || (result.need_more() && body.size() >= kMaxBytes + kMaxPktBytes)) break;
    if (!result.complete()) return result;
    at += result.consumed;
    if (count > 0 && (pkt.kind == PktKind::kFlush || pkt.kind == PktKind::kDelimiter)) return ParseResult::Complete(at);
    if (pkt.kind != PktKind::kData) break;
    const std::string_view line = ChompLine(pkt.payload);
    const ErrorCode error = count == 0           ? ReadCommand(line, out)
                            : IsCapability(line) ? ErrorCode::kNone
                                                 : ErrorCode::kBadGitRequest;
    if (error != ErrorCode::kNone) return ParseResult::Fail(error);
  }
  return ParseResult::Fail(ErrorCode::kBadGitRequest);
}

}  // namespace

absl::StatusOr<GitVersion> ParseGitProtocol(std::string_view value) {
  GitVersion version = GitVersion::kV0;
  if (value.size() > 256 || !chars::All(value, chars::kTargetChar)) {
    return base::Error(ErrorCode::kBadGitRequest, "a Git-Protocol value that no client sends");
  }
  while (!value.empty()) {
    const std::size_t colon = std::min(value.find(':'), value.size());
    const std::string_view key = value.substr(0, colon);
    value.remove_prefix(std::min(colon + 1, value.size()));
    if (!key.starts_with("version=")) continue;
    if (key != "version=0" && key != "version=1" && key != "version=2") {
      return base::Error(ErrorCode::kBadGitRequest, "unknown git protocol version");
    }
    version = std::max(version, static_cast<GitVersion>(key.back() - '0'));
  }
  return version;
}

ParseResult ParseUploadPack(std::string_view body, GitVersion version, EndOfBody end, UploadCommand* out) {
  const ParseResult result = version == GitVersion::kV2 ? ParseV2(body, out) : ParseV0(body, out);
  return result.need_more() && end == EndOfBody::kYes ? ParseResult::Fail(ErrorCode::kBadGitRequest) : result;
}

}  // namespace credbroker::wire
