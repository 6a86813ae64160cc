#include "fuzz_bytes.h"
#include "wire/basic_auth.h"

using namespace credbroker;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto authorization = wire::ParseAuthorization(fuzz::View(data, size));
  if (!authorization.ok()) return 0;
  for (const std::string* text : {&authorization->user, &authorization->password, &authorization->value}) {
    for (const char c : *text) fuzz::Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  }
  fuzz::Require(authorization->user.find(':') == std::string::npos);
  return 0;
}
