#include "fuzz_bytes.h"
#include "wire/push_refusal.h"
#include "wire/receive_pack.h"

using namespace credbroker;
using fuzz::Require;

// One outcome at every cut; a list that was taken is followed by a pack or by nothing; a refusal can always be written.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::View(data, size);
  const wire::PushLimits limits{.max_commands = 50, .max_list_bytes = 64 * 1024};
  wire::ReceivePackParser parser(limits);
  const wire::ParseResult whole = parser.Parse(body, wire::EndOfBody::kYes);
  Require(!whole.need_more());

  wire::ReceivePackParser slow(limits);
  wire::ParseResult last;
  const std::size_t step = size / 64 + 1;
  for (std::size_t given = 0; given < size && last.need_more(); given += step)
    last = slow.Parse(body.substr(0, given), wire::EndOfBody::kNo);
  if (last.need_more()) last = slow.Parse(body, wire::EndOfBody::kYes);
  Require(last.step == whole.step && last.error == whole.error && last.consumed == whole.consumed);

  const wire::PushRequest& request = parser.request();
  Require(!wire::RefusalReport(request, "no", {}).empty());
  if (!whole.complete()) return 0;
  Require(body.substr(whole.consumed).starts_with("PACK") == request.has_pack);
  for (const wire::PushCommand& command : request.commands) Require(wire::IsPushableRef(command.ref));
  return 0;
}
