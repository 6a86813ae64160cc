#pragma once

#include <string>

#include "edge/describe.h"
#include "gate/passage.h"
#include "wire/http_writer.h"

namespace credbroker::edge {

// The one place where a catalogue error becomes an HTTP answer. Bodies hold catalogue text, the rule and the request
// id: nothing of the request and no detail of ours.

enum class Audience {
  kJson,      // {"error":{"code","reason","rule","request_id","next_step"}}
  kLfs,       // the same with a `message`, which git-lfs prints
  kGitText,   // git's discovery: text/plain, which git prints after `remote:`
};

// What a login that failed is asked for.
enum class Challenge { kNone, kProxy, kOrigin };

// Appends a whole answer. With Challenge::kProxy a kNoToken.. refusal is 407 instead of 401. A HEAD request gets no body.
void AppendRefusal(const gate::Refusal& refusal, Audience audience, Challenge challenge, wire::Persist persist, bool head_only,
                   std::string* out);

// The text for people, used by git refusals too: reason, ref, rule, next step and request id on a line each.
std::string RefusalText(const gate::Refusal& refusal);

// Is this a refusal that a login could mend?
bool IsLoginRefusal(base::ErrorCode code);

}  // namespace credbroker::edge
