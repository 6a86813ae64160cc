#include "forge/graphql_facts.h"
#include "fuzz_bytes.h"

using namespace credbroker;

// The document as it comes, without variables.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  model::BodyFacts body;
  body.members.push_back({"query", model::BodyField::Kind::kString, std::string(fuzz::View(data, size))});
  const auto facts = forge::ReadOperation(body);
  if (!facts.ok()) return 0;
  fuzz::Require(!facts->fields.empty() && facts->fields.size() <= 5000);
  for (std::size_t i = 0; i < facts->fields.size(); ++i) fuzz::Require(facts->fields[i].parent < static_cast<int>(i));
  return 0;
}
