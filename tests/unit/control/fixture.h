#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "control/core.h"
#include "control/event_log.h"
#include "kit/status_matchers.h"
#include "policy/source.h"

namespace credbroker::control {

// A folder that is gone after the test.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Scopes `web` (requester team-web: session 2h, token 15m, idle 20m; repository acme/web, endpoint api.llm.example) and
// `docs` (requester team-docs).
policy::PolicySource FixturePolicy();
policy::PolicySource PolicyOf(const std::string& text);

// An open core with the fixture's policy in force, on a clock that stands still.
class CoreTest : public ::testing::Test {
 protected:
  CoreTest() = default;
  // For tests that check certificates: TLS looks at the machine's clock.
  explicit CoreTest(absl::Time start) : clock_(start) {}

  void SetUp() override;

  Caller Admin() const { return {.roles = Roles::Owner(), .actor = "uid:0"}; }
  // A caller that proved `token` and nothing else.
  Caller Holder(const IssuedToken& token) const;
  static std::string TextOf(const IssuedToken& token);

  // A session of team-web under `web`.
  absl::StatusOr<SessionAndToken> Open(absl::Duration life = absl::ZeroDuration(),
                                       model::Phase phase = model::Phase::kAgent);
  // The broker's own records of a kind, as lines, oldest first.
  std::vector<std::string> Records(const std::string& kind);
  // What a killed disk does to the ledger: nothing can be recorded any more.
  void BreakLedger() { ASSERT_TRUE(core_->ledger().Close().ok()); }
  void Reopen();

  TempFolder folder_;
  base::FakeClock clock_;
  std::unique_ptr<Core> core_;
};

}  // namespace credbroker::control
