#include "evidence/declared.h"

#include "kit/status_matchers.h"

namespace credbroker::evidence {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

Declared Of(std::string name, std::string value) {
  Declared declared;
  declared.by = "jo";
  declared.on = "2027-01-01";
  declared.fields[std::move(name)] = std::move(value);
  return declared;
}

TEST(DeclaredTest, TheKindOfIsolationIsAWordOfTheList) {
  for (const char* kind : {"container", "microvm", "vm", "user-space-kernel", "ci-runner", "sandbox", "unknown"}) {
    EXPECT_THAT(CheckDeclared(Of("isolation.kind", kind)), IsOk()) << kind;
  }
  for (const char* kind : {"", "strong", "Container", "microvm, hardened"}) EXPECT_THAT(CheckDeclared(Of("isolation.kind", kind)), FailsWith(ErrorCode::kAnswerRefused)) << kind;
  EXPECT_THAT(CheckDeclared(Of("isolation.kin", "vm")), FailsWith(ErrorCode::kAnswerRefused));
  EXPECT_THAT(CheckDeclared(Of("egress.enforcement", "mostly")), FailsWith(ErrorCode::kAnswerRefused));
}

// S25: a report that nobody can read is none.
TEST(DeclaredTest, BareClaimsAreRefused) {
  for (const char* text : {"we are SOC 2 certified", "ISO 27001", "fully compliant", "HIPAA"}) {
    EXPECT_THAT(CheckDeclared(Of("isolation.notes", text)), FailsWith(ErrorCode::kAnswerRefused)) << text;
  }
  EXPECT_THAT(CheckDeclared(Of("isolation.notes", "the compliance team runs the hosts")), IsOk());
  Declared declared = Of("incident.contact", "sec@corp.example");
  declared.attestations = {{"Type II report", "hosting", "2026", "https://trust.vendor.example/report"}};
  EXPECT_THAT(CheckDeclared(declared), IsOk());
  declared.attestations[0].where = " ";
  EXPECT_THAT(CheckDeclared(declared), FailsWith(ErrorCode::kAnswerRefused));
}

TEST(DeclaredTest, WhoAndWhenStandBesideEachValue) {
  Declared declared = Of("incident.contact", "sec@corp.example");
  declared.by.clear();
  EXPECT_THAT(CheckDeclared(declared), FailsWith(ErrorCode::kAnswerRefused));
  declared.by = "jo";
  declared.on = "yesterday";
  EXPECT_THAT(CheckDeclared(declared), FailsWith(ErrorCode::kAnswerRefused));
  EXPECT_THAT(CheckDeclared(Declared()), IsOk()) << "nothing need be declared";
}

TEST(DeclaredTest, VagueTextsSayNothing) {
  EXPECT_THAT(CheckDeclared(Of("environment.wipe", "industry standard wiping")), FailsWith(ErrorCode::kAnswerRefused));
  EXPECT_THAT(CheckDeclared(Of("environment.wipe", std::string(2001, 'x'))), FailsWith(ErrorCode::kAnswerRefused));
}

}  // namespace
}  // namespace credbroker::evidence
