#include "fuzz_bytes.h"
#include "model/target.h"
#include "wire/query.h"

using namespace credbroker;

// A path that was taken reads the same when a server decodes it once or twice and cleans it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view resource = fuzz::View(data, size);
  const model::Target parts = model::SplitTarget(resource);
  if (model::CheckPath(parts.path).ok()) {
    std::string once, twice;
    fuzz::Require(wire::PercentDecode(parts.path, &once));
    fuzz::Require(wire::PercentDecode(once, &twice) && twice == once);
    for (const std::string_view bad : {"/../", "/./", "//", "\\", ";"})
      fuzz::Require((once + "/").find(bad) == std::string::npos || (once.ends_with('/') && bad == "//"));
  }
  const bool credential = wire::HasCredentialQuery(parts.query.value_or(""));
  const auto parameters = wire::ParseQuery(parts.query.value_or(""));
  fuzz::Require(parameters.ok() || credential || parts.query.value_or("").size() > 256);
  fuzz::Require(wire::QueryNames(parts.query.value_or("")).size() <= 256);
  (void)wire::QueryValue(parts.query.value_or(""), "service").ok();
  std::string back;
  fuzz::Require(wire::PercentDecode(wire::PercentEncode(resource), &back) && back == resource);
  return 0;
}
