#include "kit/status_matchers.h"

namespace credbroker::base {

void PrintTo(ErrorCode code, std::ostream* out) { *out << Lookup(code).name; }

}  // namespace credbroker::base
