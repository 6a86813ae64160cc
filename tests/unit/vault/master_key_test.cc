#include "vault/master_key.h"

#include <sys/stat.h>

#include <fstream>

#include "base/str.h"
#include "kit/status_matchers.h"
#include "temporary_folder.h"

namespace credbroker::vault {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

const std::string kSalt(16, 's');
constexpr crypto::Argon2Cost kCheap{1, 8192};

void WriteFile(const std::string& path, const std::string& content, mode_t mode) {
  std::ofstream(path) << content;
  ASSERT_EQ(chmod(path.c_str(), mode), 0);
}

mode_t ModeOf(const std::string& path) {
  struct stat info;
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

bool SameKey(const crypto::SealKey& a, const crypto::SealKey& b) { return EqualConstantTime(a.Bytes(), b.Bytes()); }

TEST(MasterKeyFileTest, IsMadeOnceAndPrivateUnderAnyUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
    const TemporaryFolder folder;
    const MasterKeyFile source(folder.File("keys/master.key"));
    const mode_t old = umask(mask);
    const auto made = source.Load(kSalt, FirstStart::kYes);
    umask(old);
    ASSERT_THAT(made, IsOk());
    EXPECT_EQ(ModeOf(folder.File("keys/master.key")), 0600u);
    EXPECT_EQ(ModeOf(folder.File("keys")), 0700u);
    ASSERT_OK_AND_ASSIGN(const auto again, source.Load(kSalt, FirstStart::kNo));
    EXPECT_TRUE(SameKey(*made, again));
  }
}

TEST(MasterKeyFileTest, TwoInstallsDiffer) {
  const TemporaryFolder a, b;
  EXPECT_FALSE(SameKey(*MasterKeyFile(a.File("master.key")).Load(kSalt, FirstStart::kYes),
                       *MasterKeyFile(b.File("master.key")).Load(kSalt, FirstStart::kYes)));
}

TEST(MasterKeyFileTest, AMissingKeyIsMadeOnTheFirstStartOnly) {
  const TemporaryFolder folder;
  EXPECT_THAT(MasterKeyFile(folder.File("master.key")).Load(kSalt, FirstStart::kNo), FailsWith(ErrorCode::kSealBroken));
  EXPECT_FALSE(std::filesystem::exists(folder.File("master.key")));
}

TEST(MasterKeyFileTest, FilesThatOthersCanReadAreRefused) {
  const TemporaryFolder folder;
  const MasterKeyFile source(folder.File("master.key"));
  ASSERT_THAT(source.Load(kSalt, FirstStart::kYes), IsOk());
  ASSERT_EQ(chmod(folder.File("master.key").c_str(), 0640), 0);
  EXPECT_THAT(source.Load(kSalt, FirstStart::kNo), FailsWith(ErrorCode::kUnsafeFile));
  ASSERT_EQ(chmod(folder.File("master.key").c_str(), 0600), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  EXPECT_THAT(source.Load(kSalt, FirstStart::kNo), FailsWith(ErrorCode::kUnsafeFile));
}

TEST(MasterKeyFileTest, WhatIsNoKeyIsRefused) {
  const TemporaryFolder folder;
  for (const std::string& content : {std::string(), std::string("short"), std::string(64, 'g'), std::string(66, 'a')}) {
    WriteFile(folder.File("k"), content, 0600);
    EXPECT_THAT(MasterKeyFile(folder.File("k")).Load(kSalt, FirstStart::kNo), FailsWith(ErrorCode::kConfigInvalid));
  }
}

TEST(SystemdCredentialTest, ReadsRawAndHexadecimalKeys) {
  const TemporaryFolder folder;
  WriteFile(folder.File("raw"), std::string(32, 'k'), 0400);
  WriteFile(folder.File("hex"), "6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b\n", 0400);
  ASSERT_OK_AND_ASSIGN(const auto raw, SystemdCredential(folder.path(), "raw").Load(kSalt, FirstStart::kNo));
  ASSERT_OK_AND_ASSIGN(const auto hex, SystemdCredential(folder.path(), "hex").Load(kSalt, FirstStart::kYes));
  EXPECT_TRUE(SameKey(raw, hex));
  const auto refusal = [&](const std::string& in, const std::string& name) {
    return SystemdCredential(in, name).Load(kSalt, FirstStart::kYes);
  };
  EXPECT_THAT(refusal(folder.path(), "none"), FailsWith(ErrorCode::kSealBroken));
  EXPECT_THAT(refusal(folder.path(), "../raw"), FailsWith(ErrorCode::kSealBroken));
  EXPECT_THAT(refusal("", "raw"), FailsWith(ErrorCode::kConfigInvalid));
}

TEST(PassphraseTest, DependsOnWordsAndSalt) {
  const auto derive = [](std::string_view words, const std::string& salt) {
    return Passphrase(base::Secret::Copy(words), kCheap).Load(salt, FirstStart::kNo);
  };
  ASSERT_OK_AND_ASSIGN(const auto key, derive("correct horse battery", kSalt));
  EXPECT_TRUE(SameKey(key, *derive("correct horse battery", kSalt)));
  EXPECT_FALSE(SameKey(key, *derive("correct horse batterx", kSalt)));
  EXPECT_FALSE(SameKey(key, *derive("correct horse battery", std::string(16, 't'))));
  EXPECT_THAT(derive("too short", kSalt), FailsWith(ErrorCode::kSecretInvalid));
}

}  // namespace
}  // namespace credbroker::vault
