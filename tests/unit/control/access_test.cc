#include "control/access.h"

#include <google/protobuf/descriptor.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/file.h"
#include "control/access_list.h"
#include "credbroker/v1/audit.pb.h"
#include "credbroker/v1/edge.pb.h"
#include "credbroker/v1/evidence.pb.h"
#include "credbroker/v1/policy.pb.h"
#include "credbroker/v1/secret.pb.h"
#include "credbroker/v1/session.pb.h"
#include "credbroker/v1/status.pb.h"
#include "credbroker/v1/token.pb.h"
#include "fixture.h"
#include "reveal/secret_reveal.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

constexpr Rpc kRpcs[] = {
#define X(name, path, ...) Rpc::name,
    CREDBROKER_RPCS(X)
#undef X
};
constexpr Role kRoles[] = {Role::kAnyone,   Role::kHolder, Role::kRequester, Role::kReviewer,
                           Role::kOperator, Role::kAdmin,  Role::kEdge};

// The whole matrix as text: the diff of the golden file is the review. CREDBROKER_UPDATE_GOLDEN=1 rewrites it.
TEST(AccessTest, MatrixIsTheGoldenOne) {
  std::string matrix;
  for (const Rpc rpc : kRpcs) {
    std::string line(RpcName(rpc));
    line.resize(std::max<std::size_t>(line.size(), 35), ' ');
    for (const Role role : kRoles) {
      Caller caller{.roles = Roles::Of(Role::kAnyone, role), .holder_status = base::Error(ErrorCode::kNoToken)};
      if (CheckAccess(rpc, caller).ok()) line += " " + std::string(RoleName(role));
    }
    matrix += line + "\n";
  }
  const std::string path = std::string(CREDBROKER_SOURCE_DIR) + "/tests/unit/control/access.golden";
  if (std::getenv("CREDBROKER_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << matrix;
  ASSERT_OK_AND_ASSIGN(const std::string golden, base::ReadFile(path, 1 << 20));
  EXPECT_EQ(matrix, golden);
}

TEST(AccessTest, EveryMethodOfTheApiHasARow) {
  std::set<std::string> rows;
  for (const Rpc rpc : kRpcs) rows.insert("credbroker.v1." + std::string(RpcName(rpc)));
  std::set<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::Session::descriptor()->file(), v1::WhoAmIReply::descriptor()->file(), v1::PolicyFile::descriptor()->file(),
        v1::SecretInfo::descriptor()->file(), v1::RecordLine::descriptor()->file(), v1::PilotFinding::descriptor()->file(),
        v1::EdgeStatus::descriptor()->file(), v1::EdgeUpdate::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const auto* service = file->service(i);
      for (int k = 0; k < service->method_count(); ++k)
        methods.insert(service->full_name() + "/" + service->method(k)->name());
    }
  }
  EXPECT_EQ(rows, methods);
}

TEST(AccessTest, AFailedTokenIsNamedWhereOnlyATokenHelps) {
  const Caller stranger{.roles = Roles::Of(Role::kAnyone), .holder_status = base::Error(ErrorCode::kTokenExpired)};
  EXPECT_THAT(CheckAccess(Rpc::kWhoAmI, stranger), FailsWith(ErrorCode::kTokenExpired));
  EXPECT_THAT(CheckAccess(Rpc::kPutSecret, stranger), FailsWith(ErrorCode::kCallerNotAllowed));
}

TEST(AccessTest, ARequesterActsForItselfOnly) {
  const Caller bound{.roles = Roles::Of(Role::kRequester), .requester = "team-web"};
  EXPECT_THAT(bound.MayActFor("team-web"), IsOk());
  EXPECT_THAT(bound.MayActFor("team-docs"), FailsWith(ErrorCode::kRequesterNotAllowed));
}

class AccessListTest : public CoreTest {};

TEST_F(AccessListTest, BearerFindsItsAccessAndNothingElseDoes) {
  AccessList& list = core_->accesses();
  EXPECT_FALSE(list.Exists("audit-team"));
  ASSERT_OK_AND_ASSIGN(const base::Secret bearer,
                       list.Create({.name = "audit-team", .roles = Roles::Of(Role::kReviewer)}));
  const std::string text(bearer.Reveal(base::SecretReveal{}));
  ASSERT_OK_AND_ASSIGN(const Access access, list.Find(text));
  EXPECT_EQ(access.name, "audit-team");
  EXPECT_TRUE(access.roles.Has(Role::kReviewer));
  EXPECT_FALSE(access.roles.Has(Role::kAdmin));
  EXPECT_TRUE(list.Exists("audit-team"));
  for (const std::string& wrong : {text + "x", text.substr(1), std::string(), std::string("cba_")}) {
    EXPECT_THAT(list.Find(wrong), FailsWith(ErrorCode::kCallerNotAllowed));
  }
}

TEST_F(AccessListTest, NewBearerReplacesTheOld) {
  ASSERT_OK_AND_ASSIGN(const base::Secret old,
                       core_->accesses().Create({.name = "ops", .roles = Roles::Of(Role::kOperator)}));
  ASSERT_OK_AND_ASSIGN(const base::Secret next,
                       core_->accesses().Create({.name = "ops", .roles = Roles::Of(Role::kOperator)}));
  EXPECT_THAT(core_->accesses().Find(old.Reveal(base::SecretReveal{})), FailsWith(ErrorCode::kCallerNotAllowed));
  EXPECT_THAT(core_->accesses().Find(next.Reveal(base::SecretReveal{})), IsOk());
}

TEST_F(AccessListTest, ARowThatCannotBeReadGivesNobodyAnything) {
  ASSERT_THAT(core_->store().meta().Set("access/odd", R"({"hash":"x","roles":["edge"]})"), IsOk());
  ASSERT_THAT(core_->store().meta().Set("access/odder", "no json"), IsOk());
  EXPECT_THAT(core_->accesses().Find("x"), FailsWith(ErrorCode::kCallerNotAllowed));
}

}  // namespace
}  // namespace credbroker::control
