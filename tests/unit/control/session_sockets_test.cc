#include "control/session_sockets.h"

#include "fixture.h"

namespace credbroker::control {
namespace {

using testing_kit::IsOk;

class SessionSocketsTest : public CoreTest {
 protected:
  void SetUp() override {
    CoreTest::SetUp();
    stream_ = core_->hub().Connect({.edge = "edge", .sockets_folder = "/run/sessions"});
    Taken();
  }

  // The sessions whose tokens the edge got since the last call.
  std::vector<std::string> Taken() {
    std::vector<std::string> sessions;
    while (auto message = core_->hub().Next("edge", stream_, absl::ZeroDuration())) {
      if (std::holds_alternative<Heartbeat>(message->body)) break;
      const SocketBatch* batch = std::get_if<SocketBatch>(&message->body);
      for (std::size_t i = 0; batch != nullptr && i < batch->sockets.size(); ++i) sessions.push_back(batch->sockets[i].session);
    }
    return sessions;
  }

  uint64_t stream_ = 0;
};

TEST_F(SessionSocketsTest, EachLiveSessionHasOneAndItIsRenewedInTime) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  EXPECT_THAT(core_->sockets().Offer(opened.session, absl::ZeroDuration()), IsOk());
  EXPECT_EQ(Taken(), std::vector<std::string>{opened.session.id});
  EXPECT_EQ(core_->sockets().PathOf(opened.session), "/run/sessions/" + opened.session.id + "/edge.sock");
  core_->sockets().Sweep();
  EXPECT_TRUE(Taken().empty());
  clock_.Advance(absl::Minutes(7));
  core_->sockets().Sweep();
  EXPECT_TRUE(Taken().empty());
  clock_.Advance(absl::Minutes(1));  // half of the scope's 15 minutes is over
  core_->sockets().Sweep();
  EXPECT_EQ(Taken(), std::vector<std::string>{opened.session.id});
}

// A sandbox that does nothing is idle, whatever the broker does for its socket.
TEST_F(SessionSocketsTest, ASocketDoesNotKeepItsSessionFromBeingIdle) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  EXPECT_THAT(core_->sockets().Offer(opened.session, absl::ZeroDuration()), IsOk());
  for (int minute = 0; minute < 21; ++minute) {
    clock_.Advance(absl::Minutes(1));
    core_->Sweep();
  }
  ASSERT_OK_AND_ASSIGN(const SessionAndTokens found, core_->sessions().Get(Admin(), opened.session.id));
  EXPECT_EQ(found.session.close_reason, "idle");
  EXPECT_EQ(core_->sockets().PathOf(found.session), "");
  for (const store::TokenRow& token : found.tokens) EXPECT_TRUE(token.revoked_at.has_value()) << token.id;
}

TEST_F(SessionSocketsTest, ANewPhaseGetsATokenOfItsOwn) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open(absl::ZeroDuration(), model::Phase::kSetup));
  EXPECT_THAT(core_->sockets().Offer(opened.session, absl::ZeroDuration()), IsOk());
  ASSERT_THAT(core_->sessions().SetPhase(Admin(), opened.session.id, model::Phase::kAgent), IsOk());
  Taken();
  core_->sockets().Sweep();
  EXPECT_EQ(Taken(), std::vector<std::string>{opened.session.id}) << "without being asked, too";
}

TEST_F(SessionSocketsTest, SessionsFromBeforeARestartGetTheirsAndOthersNone) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(const SessionAndToken closed, Open());
  ASSERT_THAT(core_->sessions().Close(Admin(), closed.session.id, "done"), IsOk());
  Reopen();
  core_->sockets().Sweep();  // no edge yet
  stream_ = core_->hub().Connect({.edge = "edge", .sockets_folder = "/run/sessions"});
  core_->sockets().Sweep();
  EXPECT_EQ(Taken(), std::vector<std::string>{opened.session.id});
}

TEST_F(SessionSocketsTest, NothingIsMintedForAnEdgeThatMakesNone) {
  stream_ = core_->hub().Connect({.edge = "edge"});
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  EXPECT_THAT(core_->sockets().Offer(opened.session, absl::ZeroDuration()), IsOk());
  core_->sockets().Sweep();
  ASSERT_OK_AND_ASSIGN(const SessionAndTokens found, core_->sessions().Get(Admin(), opened.session.id));
  EXPECT_EQ(found.tokens.size(), 1u);
}

}  // namespace
}  // namespace credbroker::control
