#include "fuzz_bytes.h"
#include "wire/client_hello.h"

using namespace credbroker;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  wire::ClientHello hello, part_hello;
  const wire::ParseResult whole = wire::ParseClientHello(bytes, &hello);
  const wire::ParseResult part = wire::ParseClientHello(bytes.substr(0, size / 2), &part_hello);
  fuzz::Require(part.need_more() || (part.error == whole.error && part.consumed == whole.consumed));
  fuzz::Require(whole.consumed <= size);
  fuzz::Require(!whole.complete() || !hello.sni || (!hello.sni->empty() && hello.sni->size() <= 253));
  return 0;
}
