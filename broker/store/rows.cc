#include "store/rows.h"

namespace credbroker::store {

std::string_view SessionStateName(SessionState state) {
  switch (state) {
    case SessionState::kOpened:
      return "opened";
    case SessionState::kSetup:
      return "setup";
    case SessionState::kAgent:
      return "agent";
    case SessionState::kPaused:
      return "paused";
    case SessionState::kClosed:
      return "closed";
  }
  return "closed";
}

std::string_view RevocationKindName(RevocationKind kind) {
  switch (kind) {
    case RevocationKind::kToken:
      return "token";
    case RevocationKind::kSession:
      return "session";
    case RevocationKind::kScope:
      return "scope";
    case RevocationKind::kRepository:
      return "repository";
    case RevocationKind::kCredential:
      return "credential";
    case RevocationKind::kSandbox:
      return "sandbox";
    case RevocationKind::kKey:
      return "key";
    case RevocationKind::kAll:
      return "all";
  }
  return "all";
}

}  // namespace credbroker::store
