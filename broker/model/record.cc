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

}  // namespace credbroker::model
