#include "model/record.h"

namespace credbroker::model {

std::string_view RecordKindName(RecordKind kind) {
  switch (kind) {
#define X(name, text) \
  case RecordKind::name: return text;
    CREDBROKER_RECORD_KINDS(X)
#undef X
  }
  return "system";
}

void Record::Clear() {
  // Bound as a whole, so that a new field that is not cleared here does not compile.
  auto& [kind_, time_, request_id_, session_, token_id_, parent_token_id_, requester_, label_, phase_, ticket_, actor_, peer_,
         channel_, scopes_, method_, scheme_, host_, path_, port_, query_names_, service_, repository_, refs_, action_, subject_,
         detail_, before_, after_, effect_class_, rule_, credential_, exception_, code_, policy_version_, outcome_, intent_,
         status_, bytes_up_, bytes_down_, duration_us_] = *this;
  const auto empty = [](auto&... fields) { (fields.clear(), ...); };
  empty(request_id_, session_, token_id_, parent_token_id_, requester_, label_, phase_, ticket_, actor_, peer_, channel_, scopes_,
        method_, scheme_, host_, path_, query_names_, service_, repository_, refs_, action_, subject_, detail_, before_, after_,
        effect_class_, rule_, credential_, exception_, code_, outcome_);
  kind_ = RecordKind::kSystem;
  time_ = {};
  port_ = status_ = -1;
  policy_version_ = intent_ = bytes_up_ = bytes_down_ = duration_us_ = -1;
}

}  // namespace credbroker::model
