#include "rewrite/scrub.h"

#include <algorithm>

namespace credbroker::rewrite {

std::string_view Scrubber::Filter(std::string_view in, std::string* scratch) {
  base::WipeString(*scratch);
  if (held_.empty() && set_->Find(in, 0).start == std::string_view::npos) {
    const std::size_t tail = set_->FindTail(in).start;
    held_.assign(in.substr(tail));
    return in.substr(0, tail);
  }
  Feed(in, scratch);
  return *scratch;
}

void Scrubber::Feed(std::string_view in, std::string* out) {
  if (held_.empty()) {
    Scan(in, Ending::kOpen, out);
    return;
  }
  std::string joined;
  joined.reserve(held_.size() + in.size());
  joined.append(held_).append(in);
  Scan(joined, Ending::kOpen, out);
  base::WipeString(joined);
}

void Scrubber::Finish(std::string* out) {
  std::string rest;
  rest.swap(held_);
  Scan(rest, Ending::kLast, out);
  base::WipeString(rest);
}

// Bytes before `done` belong to a needle that was replaced; they stay in view so that a needle that overlaps it, or a
// longer one from the same place, is still found.
void Scrubber::Scan(std::string_view bytes, Ending ending, std::string* out) {
  const ScrubSet::Tail tail = set_->FindTail(bytes);
  // What starts inside the tail waits: the needle that the tail begins may cover it.
  const bool tail_waits = ending == Ending::kOpen || tail.revealing;
  std::size_t done = replaced_;
  for (ScrubSet::Match match = set_->Find(bytes, 0);
       match.start != std::string_view::npos && !(tail_waits && match.start > tail.start);
       match = set_->Find(bytes, match.start + 1)) {
    done = Replace(bytes, match.start, match.start + match.length, done, out);
  }
  if (ending == Ending::kLast && tail.revealing) done = Replace(bytes, tail.start, bytes.size(), done, out);

  const std::size_t keep = ending == Ending::kOpen ? tail.start : bytes.size();
  if (keep > done) out->append(bytes.substr(done, keep - done));
  std::string kept(bytes.substr(keep));
  replaced_ = done > keep ? done - keep : 0;
  base::WipeString(held_);
  held_.swap(kept);
}

// Passes on what lies before [start, end) and covers the place; one mark for places that overlap. Returns the new `done`.
std::size_t Scrubber::Replace(std::string_view bytes, std::size_t start, std::size_t end, std::size_t done, std::string* out) {
  if (end <= done) return done;
  const std::size_t from = std::max(start, done);
  out->append(bytes.substr(done, from - done));
  // As long as what it covers, so that a length that was announced before stays true (B9).
  out->append(end - from, kCover);
  if (start >= done) ++hits_;
  return end;
}

}  // namespace credbroker::rewrite
