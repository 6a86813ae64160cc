#include "crypto/certificate.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/clock.h"
#include "base/str.h"
#include "base/text.h"
#include "kit/status_matchers.h"
#include "reveal/secret_reveal.h"

namespace credbroker::crypto {
namespace {

using base::ErrorCode;
using base::StrCat;
using testing::HasSubstr;
using testing::Not;
using testing_kit::FailsWith;
using testing_kit::IsOk;

struct CommandResult {
  int code;
  std::string output;
};

CommandResult RunCommand(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> block;
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), pipe)) output.append(block.data(), got);
  return {pclose(pipe), output};
}

class CertificateTest : public testing::Test {
 protected:
  CertificateTest() : folder_(std::filesystem::path(testing::TempDir()) / StrCat("certificates-", getpid())) {
    std::filesystem::create_directories(folder_);
    CaFiles files = *GenerateCa("Credbroker test CA", now_);
    ca_pem_ = files.certificate_pem;
    ca_ = *CertificateAuthority::Load(files.certificate_pem, files.key_pem);
    leaf_key_ = GenerateP256Key()->public_key_der;
  }
  ~CertificateTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << content;
    return path;
  }
  // What `openssl verify` says at the time `at`.
  CommandResult Verify(const std::string& leaf_pem, const std::string& options, absl::Time at) {
    const std::string ca = Write("ca.pem", ca_pem_);
    const std::string leaf = Write("leaf.pem", leaf_pem);
    return RunCommand(StrCat("openssl verify -x509_strict -check_ss_sig -attime ", absl::ToUnixSeconds(at), " ",
                             options, " -CAfile ", ca, " ", leaf));
  }
  std::string Text(const std::string& pem) {
    return RunCommand(StrCat("openssl x509 -noout -text -in ", Write("text.pem", pem))).output;
  }

  const absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  std::filesystem::path folder_;
  std::string ca_pem_;
  std::unique_ptr<CertificateAuthority> ca_;
  std::string leaf_key_;
};

TEST_F(CertificateTest, CaHasWhatStrictClientsAskFor) {
  const std::string text = Text(ca_pem_);
  EXPECT_THAT(text, HasSubstr("X509v3 Basic Constraints: critical\n                CA:TRUE, pathlen:0"));
  EXPECT_THAT(text, HasSubstr("X509v3 Key Usage: critical\n                Certificate Sign, CRL Sign"));
  EXPECT_THAT(text, HasSubstr("X509v3 Subject Key Identifier"));
  EXPECT_THAT(text, HasSubstr("NIST CURVE: P-256"));
  ASSERT_OK_AND_ASSIGN(const CertificateFacts facts, ReadCertificate(ca_pem_));
  EXPECT_EQ(facts.not_after, now_ + kCaLife);
  EXPECT_EQ(facts.subject_common_name, "Credbroker test CA");
}

TEST_F(CertificateTest, LeavesPassStrictVerification) {
  const struct {
    std::string host;
    std::string options;
  } cases[] = {
      {"git.example", "-verify_hostname git.example"},
      {"a_b.xn--bcher-kva.example", "-verify_hostname a_b.xn--bcher-kva.example"},
      {"192.0.2.10", "-verify_ip 192.0.2.10"},
      {"2001:db8::10", "-verify_ip 2001:db8::10"},
      {"[2001:db8::10]", "-verify_ip 2001:db8::10"},
      {std::string(60, 'a') + "." + std::string(60, 'b') + ".example", ""},  // too long for a common name
  };
  for (const auto& test : cases) {
    ASSERT_OK_AND_ASSIGN(const std::string leaf, ca_->SignLeaf(test.host, leaf_key_, now_));
    const CommandResult result = Verify(leaf, StrCat("-purpose sslserver ", test.options), now_);
    EXPECT_EQ(result.code, 0) << test.host << ": " << result.output;
    EXPECT_NE(Verify(leaf, "-verify_hostname other.example", now_).code, 0) << test.host;
    EXPECT_NE(Verify(leaf, "-purpose sslclient", now_).code, 0) << test.host;
  }
}

TEST_F(CertificateTest, LeafNamesItsIssuerAndItsUse) {
  ASSERT_OK_AND_ASSIGN(const std::string leaf, ca_->SignLeaf("git.example", leaf_key_, now_));
  const std::string text = Text(leaf);
  EXPECT_THAT(text, HasSubstr("X509v3 Basic Constraints: critical\n                CA:FALSE"));
  EXPECT_THAT(text, HasSubstr("X509v3 Key Usage: critical\n                Digital Signature\n"));
  EXPECT_THAT(text, HasSubstr("TLS Web Server Authentication\n"));
  const auto identifier = [](const std::string& from, const std::string& name) {
    const std::size_t at = from.find('\n', from.find(name)) + 1;
    return from.substr(from.find_first_not_of(' ', at), 59);
  };
  EXPECT_EQ(identifier(text, "X509v3 Authority Key Identifier"),
            identifier(Text(ca_pem_), "X509v3 Subject Key Identifier"));
  EXPECT_THAT(text, HasSubstr("X509v3 Subject Key Identifier"));
}

TEST_F(CertificateTest, AddressesAreNotWrittenAsNames) {
  for (const std::string host : {"192.0.2.10", "2001:db8::10", "[2001:db8::10]"}) {
    ASSERT_OK_AND_ASSIGN(const std::string leaf, ca_->SignLeaf(host, leaf_key_, now_));
    EXPECT_THAT(Text(leaf), HasSubstr("IP Address:"));
    EXPECT_THAT(Text(leaf), Not(HasSubstr("DNS:")));
  }
}

TEST_F(CertificateTest, ClientsWithClocksFiveMinutesOffAccept) {
  ASSERT_OK_AND_ASSIGN(const std::string leaf, ca_->SignLeaf("git.example", leaf_key_, now_));
  EXPECT_EQ(Verify(leaf, "", now_ - absl::Minutes(5)).code, 0);
  EXPECT_EQ(Verify(leaf, "", now_ + absl::Minutes(5)).code, 0);
  EXPECT_NE(Verify(leaf, "", now_ + kLeafLife + absl::Seconds(1)).code, 0);
}

TEST_F(CertificateTest, LeafStaysWithinTheLifeOfItsCa) {
  ASSERT_OK_AND_ASSIGN(const CertificateFacts ca, ReadCertificate(ca_pem_));
  EXPECT_EQ(ca_->not_after(), ca.not_after);
  ASSERT_OK_AND_ASSIGN(const std::string early, ca_->SignLeaf("a.example", leaf_key_, ca.not_before));
  EXPECT_EQ(ReadCertificate(early)->not_before, ca.not_before);
  ASSERT_OK_AND_ASSIGN(const std::string late, ca_->SignLeaf("a.example", leaf_key_, ca.not_after - absl::Hours(1)));
  EXPECT_EQ(ReadCertificate(late)->not_after, ca.not_after);
  EXPECT_THAT(ca_->SignLeaf("a.example", leaf_key_, ca.not_after), FailsWith(ErrorCode::kConfigInvalid));
}

TEST_F(CertificateTest, SerialsAreLongAndNeverRepeat) {
  std::set<std::string> serials;
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::string leaf, ca_->SignLeaf("a.example", leaf_key_, now_));
    const std::string serial = ReadCertificate(leaf)->serial_hex;
    EXPECT_EQ(serial.size(), 32u);  // 127 bits
    serials.insert(serial);
  }
  EXPECT_EQ(serials.size(), 50u);
}

TEST_F(CertificateTest, HostsThatAreNoHostsAreRefused) {
  const std::string long_name = std::string(300, 'a');
  for (const std::string_view host :
       {std::string_view(""), std::string_view("a.example,DNS:evil.example"), std::string_view("a..example"),
        std::string_view(".example"), std::string_view("a.example."), std::string_view("A.example"),
        std::string_view("*.example"), std::string_view("-a.example"), std::string_view("a.example:443"),
        std::string_view("[a.example]"), std::string_view("a\nb.example"), std::string_view("192.0.2.1\0x", 11),
        std::string_view("[]"), std::string_view(long_name)}) {
    EXPECT_THAT(ca_->SignLeaf(host, leaf_key_, now_), FailsWith(ErrorCode::kBadHost)) << host;
  }
}

TEST_F(CertificateTest, KeysThatAreNotP256AreRefused) {
  const std::string path = (folder_ / "rsa.pem").string();
  ASSERT_EQ(RunCommand(StrCat("openssl genrsa -out ", path, " 2048 && openssl pkey -in ", path,
                              " -pubout -outform DER -out ", path, ".der"))
                .code,
            0);
  std::ifstream file(path + ".der", std::ios::binary);
  const std::string rsa((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(rsa.size(), 200u);
  EXPECT_THAT(ca_->SignLeaf("a.example", rsa, now_), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(ca_->SignLeaf("a.example", "junk", now_), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(ca_->SignLeaf("a.example", leaf_key_ + "x", now_), FailsWith(ErrorCode::kBadArgument));
}

TEST_F(CertificateTest, ListenersAndEdgesGetTheirOwnKinds) {
  ASSERT_OK_AND_ASSIGN(const std::string server,
                       ca_->SignServer({"localhost", "127.0.0.1", "::1"}, leaf_key_, now_, absl::Hours(24 * 90)));
  EXPECT_EQ(Verify(server, "-purpose sslserver -verify_hostname localhost", now_).code, 0);
  EXPECT_EQ(Verify(server, "-purpose sslserver -verify_ip ::1", now_).code, 0);
  EXPECT_THAT(ca_->SignServer({}, leaf_key_, now_, absl::Hours(1)), FailsWith(ErrorCode::kBadArgument));
  ASSERT_OK_AND_ASSIGN(const std::string client, ca_->SignClient("edge-1", leaf_key_, now_, absl::Hours(24)));
  EXPECT_EQ(Verify(client, "-purpose sslclient", now_).code, 0);
  EXPECT_NE(Verify(client, "-purpose sslserver", now_).code, 0);
  EXPECT_EQ(ReadCertificate(client)->subject_common_name, "edge-1");
}

TEST_F(CertificateTest, TwoInstallsDiffer) {
  ASSERT_OK_AND_ASSIGN(const CaFiles other, GenerateCa("Credbroker test CA", now_));
  EXPECT_NE(ReadCertificate(other.certificate_pem)->public_key_der, ReadCertificate(ca_pem_)->public_key_der);
  ASSERT_OK_AND_ASSIGN(const auto other_ca, CertificateAuthority::Load(other.certificate_pem, other.key_pem));
  ASSERT_OK_AND_ASSIGN(const std::string leaf, other_ca->SignLeaf("a.example", leaf_key_, now_));
  EXPECT_NE(Verify(leaf, "", now_).code, 0);
}

TEST_F(CertificateTest, LoadingRefusesWhatDoesNotBelongTogether) {
  ASSERT_OK_AND_ASSIGN(const CaFiles other, GenerateCa("Other", now_));
  EXPECT_THAT(CertificateAuthority::Load(ca_pem_, other.key_pem), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(CertificateAuthority::Load("junk", other.key_pem), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(CertificateAuthority::Load(ca_pem_, base::Secret::Copy("junk")), FailsWith(ErrorCode::kBadArgument));
  ASSERT_OK_AND_ASSIGN(const KeyPair pair, GenerateP256Key());
  ASSERT_OK_AND_ASSIGN(const std::string leaf, ca_->SignLeaf("a.example", pair.public_key_der, now_));
  EXPECT_THAT(CertificateAuthority::Load(leaf, pair.private_key_pem), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(GenerateCa("", now_), FailsWith(ErrorCode::kBadName));
  EXPECT_THAT(GenerateCa("a\nb", now_), FailsWith(ErrorCode::kBadName));
  EXPECT_THAT(GenerateCa(std::string(65, 'a'), now_), FailsWith(ErrorCode::kBadName));
}

}  // namespace
}  // namespace credbroker::crypto
