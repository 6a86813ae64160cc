#include "control/secrets.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "credbroker/v1/audit.pb.h"
#include "credbroker/v1/edge.pb.h"
#include "credbroker/v1/policy.pb.h"
#include "credbroker/v1/secret.pb.h"
#include "credbroker/v1/session.pb.h"
#include "credbroker/v1/status.pb.h"
#include "credbroker/v1/token.pb.h"
#include "fixture.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using base::Secret;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class SecretsTest : public CoreTest {
 protected:
  Secrets& secrets() { return core_->secrets(); }
  const Cause cause_{.actor = "uid:0"};
};

TEST_F(SecretsTest, GoesThroughItsLife) {
  ASSERT_OK_AND_ASSIGN(const SecretView put, secrets().Put("llm", Secret::Copy("v1-canary\n"), Overwrite::kNo, cause_));
  EXPECT_EQ(put.info.version, 1);
  EXPECT_THAT(put.credentials, ElementsAre("llm-key"));
  EXPECT_THAT(secrets().Put("llm", Secret::Copy("value-v2"), Overwrite::kNo, cause_), FailsWith(ErrorCode::kStoreConflict));
  EXPECT_THAT(secrets().Put("llm", Secret::Copy("value-v2"), Overwrite::kYes, cause_), IsOk());
  ASSERT_OK_AND_ASSIGN(const SecretView rotated, secrets().Rotate("llm", Secret::Copy("value-v3"), cause_));
  EXPECT_EQ(rotated.info.version, 3);
  EXPECT_THAT(secrets().Rotate("none", Secret::Copy("value-v"), cause_), FailsWith(ErrorCode::kSecretNotFound));
  EXPECT_THAT(secrets().Delete("llm", cause_), IsOk());
  EXPECT_THAT(secrets().Delete("llm", cause_), FailsWith(ErrorCode::kSecretNotFound));
  ASSERT_OK_AND_ASSIGN(const auto left, secrets().List());
  EXPECT_TRUE(left.empty());
  const auto records = Records("admin");
  ASSERT_EQ(records.size(), 5u);
  EXPECT_THAT(records[1], HasSubstr("secret.put"));
  EXPECT_THAT(records[3], HasSubstr("secret.rotate"));
  EXPECT_THAT(records[4], HasSubstr("secret.delete"));
}

TEST_F(SecretsTest, ARefusedValueLeavesNoRecord) {
  EXPECT_THAT(secrets().Put("llm", Secret::Copy(""), Overwrite::kNo, cause_), FailsWith(ErrorCode::kSecretInvalid));
  EXPECT_THAT(secrets().Put("LLM!", Secret::Copy("value-v"), Overwrite::kNo, cause_), FailsWith(ErrorCode::kBadName));
  EXPECT_EQ(Records("admin").size(), 1u);
}

TEST_F(SecretsTest, WithoutALedgerNothingChanges) {
  ASSERT_THAT(secrets().Put("llm", Secret::Copy("value-v1"), Overwrite::kNo, cause_), IsOk());
  BreakLedger();
  EXPECT_THAT(secrets().Rotate("llm", Secret::Copy("value-v2"), cause_), FailsWith(ErrorCode::kLedgerUnavailable));
  EXPECT_THAT(secrets().Delete("llm", cause_), FailsWith(ErrorCode::kLedgerUnavailable));
  ASSERT_OK_AND_ASSIGN(const auto kept, secrets().List());
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].info.version, 1);
}

// S12, field.md 73: no answer of the API has a place for a secret's value. Every field of bytes or of a telling name in
// any reply is on this list, with its reason.
TEST_F(SecretsTest, NoReplyCanCarryASecret) {
  const std::set<std::string> known = {
      "credbroker.v1.LendReply.sealed_lease",    // sealed to the edge's key, on the edge's door only
      "credbroker.v1.KeysUpdate.verify_keys",    // public keys, on the edge's door only
      "credbroker.v1.PutSecretReply.secret",     // SecretInfo: name, version, times
      "credbroker.v1.RotateSecretReply.secret",  // the same
      "credbroker.v1.ListSecretsReply.secrets",  // the same
      "credbroker.v1.LendReply.secret_version",  // a number
  };
  std::set<std::string> found;
  std::set<const google::protobuf::Descriptor*> seen;
  const std::function<void(const google::protobuf::Descriptor*)> visit =
      [&](const google::protobuf::Descriptor* message) {
        if (!seen.insert(message).second) return;
        for (int i = 0; i < message->field_count(); ++i) {
          const google::protobuf::FieldDescriptor* field = message->field(i);
          const bool telling =
              field->name().find("secret") != std::string::npos ||
              field->name().find("password") != std::string::npos ||
              (field->name() == "value" && message->name() != "Revocation" && !message->options().map_entry());
          if (telling || field->type() == google::protobuf::FieldDescriptor::TYPE_BYTES)
            found.insert(field->full_name());
          if (field->message_type() != nullptr) visit(field->message_type());
        }
      };
  for (const google::protobuf::FileDescriptor* file :
       {v1::Session::descriptor()->file(), v1::WhoAmIReply::descriptor()->file(), v1::PolicyFile::descriptor()->file(),
        v1::SecretInfo::descriptor()->file(), v1::RecordLine::descriptor()->file(),
        v1::EdgeStatus::descriptor()->file(), v1::EdgeUpdate::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int k = 0; k < file->service(i)->method_count(); ++k) visit(file->service(i)->method(k)->output_type());
    }
  }
  EXPECT_EQ(found, known);
}

// Nothing that the broker keeps on disk holds the value in the clear, the ledger included.
TEST_F(SecretsTest, NoFileHoldsTheValue) {
  constexpr char kCanary[] = "canary-7Qd0x-value-of-a-secret";
  ASSERT_THAT(secrets().Put("llm", Secret::Copy(kCanary), Overwrite::kNo, cause_), IsOk());
  core_.reset();
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    if (!entry.is_regular_file()) continue;
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    EXPECT_EQ(bytes.str().find(kCanary), std::string::npos) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 3);
}

}  // namespace
}  // namespace credbroker::control
