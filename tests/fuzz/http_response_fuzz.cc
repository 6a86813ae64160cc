#include "fuzz_bytes.h"
#include "wire/http_head.h"

using namespace credbroker;
using fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  for (const std::string_view method : {"GET", "HEAD", "CONNECT"}) {
    wire::ResponseHead head;
    const wire::ParseResult whole = wire::ParseResponseHead(bytes, method, {}, &head);
    wire::ResponseHead part_head;
    const wire::ParseResult part = wire::ParseResponseHead(bytes.substr(0, size / 2), method, {}, &part_head);
    Require(part.need_more() ||
            (part.step == whole.step && part.error == whole.error && part.consumed == whole.consumed));
    Require(!whole.failed() || whole.error == base::ErrorCode::kUpstreamMalformed);
    if (!whole.complete()) continue;
    Require(whole.consumed <= size && head.status >= 100 && head.status <= 599);
    Require(head.framing != wire::Framing::kUntilClose || !head.keep_alive);
    Require(method != "HEAD" || head.framing == wire::Framing::kNone);
  }
  return 0;
}
