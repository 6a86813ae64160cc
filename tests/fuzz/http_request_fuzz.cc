#include "fuzz_bytes.h"
#include "wire/http_head.h"
#include "wire/http_writer.h"
#include "model/target.h"
#include "wire/query.h"

using namespace credbroker;
using fuzz::Require;

// A head that was taken has the same outcome at a cut, and reads the same after it was written again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  wire::RequestHead head;
  const wire::ParseResult whole = wire::ParseRequestHead(bytes, {}, &head);
  const std::size_t cut = size == 0 ? 0 : data[0] * size / 256;
  wire::RequestHead part_head;
  const wire::ParseResult part = wire::ParseRequestHead(bytes.substr(0, cut), {}, &part_head);
  Require(part.need_more() ||
          (part.step == whole.step && part.error == whole.error && part.consumed == whole.consumed));
  if (!whole.complete()) return 0;

  Require(whole.consumed <= size && !head.method.empty() && !head.target.empty());
  Require(head.framing != wire::Framing::kUntilClose);
  Require(!(head.CountHeader("content-length") > 0 && head.CountHeader("transfer-encoding") > 0) &&
          head.CountHeader("host") <= 1);
  std::string again;
  wire::AppendRequestLine(head.method, head.target, &again);
  for (const wire::Header& field : head.headers) wire::AppendHeader(field.name, field.value, &again);
  wire::AppendHeadEnd(&again);
  if (head.minor_version == 0) return 0;
  wire::RequestHead second;
  Require(wire::ParseRequestHead(again, {.max_head_bytes = 1 << 20}, &second).complete());
  Require(second.framing == head.framing && second.content_length == head.content_length && second.host == head.host);
  return 0;
}
