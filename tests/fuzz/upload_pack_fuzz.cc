#include "fuzz_bytes.h"
#include "wire/upload_pack.h"

using namespace credbroker;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view body = fuzz::View(data, size);
  (void)wire::ParseGitProtocol(body).ok();
  for (const wire::GitVersion version : {wire::GitVersion::kV0, wire::GitVersion::kV2}) {
    wire::UploadCommand command;
    const wire::ParseResult whole = wire::ParseUploadPack(body, version, wire::EndOfBody::kYes, &command);
    const wire::ParseResult part =
        wire::ParseUploadPack(body.substr(0, size / 2), version, wire::EndOfBody::kNo, &command);
    fuzz::Require(!whole.need_more());
    fuzz::Require(part.need_more() || (part.error == whole.error && part.consumed == whole.consumed));
    fuzz::Require(whole.consumed <= size);
  }
  return 0;
}
