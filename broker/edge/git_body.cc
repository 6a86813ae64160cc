#include "edge/git_body.h"

#include "base/macros.h"

namespace credbroker::edge {

using base::ErrorCode;

GitBody::GitBody(net::Stream& stream, BodySource& source, std::string_view content_encoding, const EdgeOptions& options)
    : stream_(stream), source_(source), options_(options), parser_({.shallow = wire::ShallowLines::kAllow}) {
  const auto coding = wire::ParseCoding(content_encoding);
  known_coding_ = coding.has_value();
  coding_ = coding.value_or(wire::Coding::kIdentity);
  if (coding_ == wire::Coding::kIdentity) return;
  wire::InflateLimits limits;
  limits.max_output_bytes = options.max_spool;
  inflater_ = std::make_unique<wire::Inflater>(coding_, limits);
}

base::Task<ErrorCode> GitBody::ReadMore(std::string* out, bool* end) {
  std::string_view piece;
  *end = false;
  while (true) {
    const BodySource::Step step = source_.Next(&piece);
    if (step == BodySource::Step::kFailed) co_return source_.error();
    if (step == BodySource::Step::kPiece) {
      absl::Status status;
      if (inflater_ != nullptr) {
        status = inflater_->Feed(piece, out);
      } else {
        out->append(piece);
      }
      source_.Take();
      co_return base::CodeOf(status);
    }
    if (step == BodySource::Step::kEnd) {
      *end = true;
      co_return inflater_ == nullptr ? ErrorCode::kNone : base::CodeOf(inflater_->Finish());
    }
    const net::Io io = co_await stream_.Readable(stream_.loop().After(options_.stream_idle));
    if (io != net::Io::kOk) co_return ErrorCode::kClientClosed;
  }
}

base::Task<ErrorCode> GitBody::ReadPush(std::vector<model::RefChange>* changes) {
  if (!known_coding_) co_return ErrorCode::kUnsupportedCoding;
  bool end = source_.ended();
  while (true) {
    const wire::ParseResult parsed = parser_.Parse(ahead_, end ? wire::EndOfBody::kYes : wire::EndOfBody::kNo);
    if (parsed.failed()) co_return parsed.error;
    if (parsed.complete()) {
      pack_at_ = parsed.consumed;
      break;
    }
    if (end) co_return ErrorCode::kBadGitRequest;
    const ErrorCode code = co_await ReadMore(&ahead_, &end);
    if (code != ErrorCode::kNone) co_return code;
  }
  // An option can merge (facts.md 3.3). The host's offer has none, so whoever sends one was not asked.
  if (!parser_.request().options.empty()) co_return ErrorCode::kGitNotSupported;
  for (const wire::PushCommand& command : parser_.request().commands) {
    model::RefChange change;
    change.ref = command.ref;
    change.old_id = command.old_id;
    change.new_id = command.new_id;
    change.kind = command.kind == wire::PushKind::kCreate   ? model::RefChange::Kind::kCreate
                  : command.kind == wire::PushKind::kDelete ? model::RefChange::Kind::kDelete
                                                            : model::RefChange::Kind::kUpdate;
    if (change.kind != model::RefChange::Kind::kUpdate) change.ancestry = model::RefChange::Ancestry::kNotApplicable;
    changes->push_back(std::move(change));
  }
  co_return ErrorCode::kNone;
}

base::Task<ErrorCode> GitBody::ReadFetch(std::string_view git_protocol) {
  if (!known_coding_) co_return ErrorCode::kUnsupportedCoding;
  const auto version = wire::ParseGitProtocol(git_protocol);
  if (!version.ok()) co_return base::CodeOf(version.status());
  bool end = source_.ended();
  wire::UploadCommand command;
  while (true) {
    const wire::ParseResult parsed = wire::ParseUploadPack(ahead_, *version, end ? wire::EndOfBody::kYes : wire::EndOfBody::kNo, &command);
    if (parsed.failed()) co_return parsed.error;
    if (parsed.complete()) co_return ErrorCode::kNone;
    if (end) co_return ErrorCode::kBadGitRequest;
    const ErrorCode code = co_await ReadMore(&ahead_, &end);
    if (code != ErrorCode::kNone) co_return code;
  }
}

base::Task<ErrorCode> GitBody::ReadAll() {
  bool end = false;
  while (!end) {
    const ErrorCode code = co_await ReadMore(&ahead_, &end);
    if (code != ErrorCode::kNone) co_return code;
    if (ahead_.size() > options_.max_decoded) co_return ErrorCode::kBodyTooLarge;
  }
  co_return ErrorCode::kNone;
}

base::Task<ErrorCode> GitBody::Spool(PushSpool& spool, PushCheck& check) {
  std::string piece = ahead_.substr(pack_at_);
  ahead_.resize(pack_at_);
  bool end = source_.ended();
  while (true) {
    if (!piece.empty()) {
      const absl::Status stored = spool.Append(piece);
      if (!stored.ok()) co_return base::CodeOf(stored);
      check.Look(piece);
      piece.clear();
    }
    if (end) co_return ErrorCode::kNone;
    const ErrorCode code = co_await ReadMore(&piece, &end);
    if (code != ErrorCode::kNone) co_return code;
  }
}

}  // namespace credbroker::edge
