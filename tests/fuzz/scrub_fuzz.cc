#include "fuzz_bytes.h"
#include "rewrite/scrub.h"

using namespace credbroker;

// input := length of the secret u8 | length of a piece u8 | secret | text. No cut lets the secret through.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view rest = fuzz::View(data, size).substr(2);
  const base::Secret secret = base::Secret::Copy(rest.substr(0, data[0]));
  const std::string needle(rest.substr(0, data[0]));
  const std::string_view text = rest.substr(needle.size());
  const auto set = rewrite::ScrubSet::Make({{&secret, "user"}});
  fuzz::Require(set.ok() == (needle.size() >= 4));
  if (!set.ok() || needle.find_first_not_of(rewrite::kCover) == std::string::npos) return 0;

  rewrite::Scrubber whole(*set), slow(*set);
  std::string out, slow_out, scratch;
  whole.Feed(text, &out);
  whole.Finish(&out);
  const std::size_t piece = data[1] + std::size_t{1};
  for (std::size_t at = 0; at < text.size(); at += piece) {
    slow_out.append(slow.Filter(text.substr(at, piece), &scratch));
    fuzz::Require(slow.held_bytes() <= (*set)->max_held());
  }
  slow.Finish(&slow_out);
  fuzz::Require(out == slow_out && whole.hits() == slow.hits());
  fuzz::Require(text.find(needle) == std::string_view::npos || whole.hits() > 0);
  fuzz::Require(whole.hits() > 0 || out == text);
  fuzz::Require(out.size() == text.size());
  return 0;
}
