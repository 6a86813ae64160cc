#include "fuzz_bytes.h"
#include "wire/json.h"

using namespace credbroker;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  std::vector<wire::JsonValue> values;
  const bool ok = wire::ReadJson(fuzz::View(data, size), {}, &values).ok();
  fuzz::Require(!ok || (!values.empty() && values.front().path.empty()));
  fuzz::Require(values.size() <= wire::JsonLimits().max_values);
  return 0;
}
