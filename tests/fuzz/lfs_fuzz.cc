#include "base/error.h"
#include "fuzz_bytes.h"
#include "wire/lfs.h"

using namespace credbroker;
using fuzz::Require;

// What is written of a request reads as the same request; an answer never carries an address of the host's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::View(data, size);
  wire::LfsBatch asked{.upload = true, .ref = {}, .objects = {{std::string(64, 'a'), 12}}};
  if (const auto batch = wire::ReadLfsBatch(text); batch.ok()) {
    const std::string written = wire::WriteLfsBatch(*batch);
    const auto again = wire::ReadLfsBatch(written);
    Require(again.ok() && wire::WriteLfsBatch(*again) == written && batch->objects.size() <= 1000);
    asked = *batch;
  }
  for (const auto call : {wire::LfsLockCall::kCreate, wire::LfsLockCall::kVerify, wire::LfsLockCall::kUnlock}) {
    const auto lock = wire::ReadLfsLock(text, call);
    if (lock.ok()) Require(wire::ReadLfsLock(wire::WriteLfsLock(*lock, call), call).ok());
  }
  const auto link = [](const wire::LfsObject& object, const wire::LfsAction& action) -> absl::StatusOr<wire::LfsLink> {
    Require(object.oid.size() == 64 && !action.href.empty());
    return wire::LfsLink{"https://edge.test/", absl::Seconds(1)};
  };
  for (const bool upload : {true, false}) {
    asked.upload = upload;
    const auto answer = wire::RewriteLfsReply(text, asked, absl::UnixEpoch(), link);
    if (answer.ok()) Require(answer->find("\"header\"") == std::string::npos);
  }
  return 0;
}
