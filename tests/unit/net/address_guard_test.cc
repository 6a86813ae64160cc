#include "net/address_guard.h"

#include <gtest/gtest.h>

#include "kit/status_matchers.h"

namespace credbroker::net {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

IpAddress Ip(std::string_view text) {
  auto parsed = IpAddress::Parse(text);
  EXPECT_THAT(parsed, IsOk()) << text;
  return parsed.ok() ? *parsed : IpAddress();
}

Cidr Block(std::string_view text) {
  auto parsed = Cidr::Parse(text);
  EXPECT_THAT(parsed, IsOk()) << text;
  return parsed.ok() ? *parsed : Cidr();
}

TEST(IpTest, TextFormsAreStrict) {
  for (const char* good : {"0.0.0.0", "192.0.2.1", "255.255.255.255", "::", "::1", "2001:db8::1", "::ffff:10.0.0.1"}) {
    EXPECT_EQ(Ip(good).Text(), good);
  }
  for (const std::string_view bad : std::initializer_list<std::string_view>{
           "", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "0x7f.0.0.1", "2130706433", "127.1", "1.2.3.4 ", "[::1]",
           "fe80::1%eth0", ":::1", "1::2::3", "example.test", std::string_view("1.2.3.4\0", 8), "::ffff:1.2.3"}) {
    EXPECT_THAT(IpAddress::Parse(bad), FailsWith(ErrorCode::kBadHost)) << bad;
  }
}

TEST(IpTest, BlocksContainWhatTheirPrefixSays) {
  EXPECT_TRUE(Block("10.0.0.0/8").Contains(Ip("10.255.0.1")));
  EXPECT_FALSE(Block("10.0.0.0/8").Contains(Ip("11.0.0.0")));
  EXPECT_TRUE(Block("0.0.0.0/0").Contains(Ip("8.8.8.8")));
  EXPECT_FALSE(Block("0.0.0.0/0").Contains(Ip("::1")));
  EXPECT_TRUE(Block("127.0.0.1").Contains(Ip("127.0.0.1")));
  EXPECT_FALSE(Block("127.0.0.1").Contains(Ip("127.0.0.2")));
  EXPECT_TRUE(Block("fd00::/9").Contains(Ip("fd7f::1")));
  EXPECT_FALSE(Block("fd00::/9").Contains(Ip("fd80::1")));
  for (const char* bad : {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/+8", "/8",
                          "::/129", "10.0.0.0/8/8", "x/8"}) {
    EXPECT_THAT(Cidr::Parse(bad), FailsWith(ErrorCode::kBadHost)) << bad;
  }
}

TEST(AddressGuardTest, ClassOfEachAddress) {
  using enum AddressClass;
  const struct {
    const char* address;
    AddressClass expected;
  } table[] = {
      {"8.8.8.8", kPublic},
      {"203.0.113.5", kPublic},
      {"198.51.100.1", kPublic},
      {"192.0.2.10", kPublic},
      {"2001:db8::1", kPublic},
      {"2606:4700::1111", kPublic},
      {"127.0.0.1", kLoopback},
      {"127.255.255.254", kLoopback},
      {"::1", kLoopback},
      {"10.1.2.3", kPrivate},
      {"172.16.0.1", kPrivate},
      {"172.31.255.255", kPrivate},
      {"172.32.0.1", kPublic},
      {"192.168.1.1", kPrivate},
      {"fc00::1", kPrivate},
      {"fd12:3456::1", kPrivate},
      {"fec0::1", kPrivate},
      {"169.254.1.1", kLinkLocal},
      {"fe80::1", kLinkLocal},
      {"febf::1", kLinkLocal},
      {"100.64.0.1", kSharedNat},
      {"100.127.255.255", kSharedNat},
      {"100.128.0.1", kPublic},
      {"224.0.0.1", kMulticast},
      {"239.1.1.1", kMulticast},
      {"255.255.255.255", kMulticast},
      {"ff02::1", kMulticast},
      {"0.0.0.0", kUnspecified},
      {"0.1.2.3", kUnspecified},
      {"::", kUnspecified},
      {"192.0.0.1", kReserved},
      {"192.88.99.1", kReserved},
      {"198.18.0.1", kReserved},
      {"240.0.0.1", kReserved},
      {"2001::1", kReserved},
      {"100::1", kReserved},
      {"4000::1", kReserved},
      {"64:ff9b:1::1", kPrivate},
      {"169.254.169.254", kMetadata},
      {"169.254.170.2", kMetadata},
      {"fd00:ec2::254", kMetadata},
      {"100.100.100.200", kMetadata},
      {"168.63.129.16", kMetadata},
      // IPv4 inside IPv6
      {"::ffff:127.0.0.1", kLoopback},
      {"::ffff:a9fe:a9fe", kMetadata},
      {"::ffff:8.8.8.8", kPublic},
      {"::127.0.0.1", kLoopback},
      {"::ffff:0:10.0.0.1", kPrivate},
      {"64:ff9b::10.0.0.1", kPrivate},
      {"64:ff9b::808:808", kPublic},
      {"2002:7f00:1::", kLoopback},
      {"2002:a9fe:a9fe::1", kMetadata},
      {"2002:808:808::1", kPublic},
  };
  for (const auto& row : table) {
    EXPECT_EQ(AddressClassName(Classify(Ip(row.address))), AddressClassName(row.expected)) << row.address;
  }
}

TEST(AddressGuardTest, OnlyPublicOrNamedAddressesPass) {
  const std::vector<Cidr> allowed = {Block("10.0.0.0/8"), Block("127.0.0.1/32"), Block("169.254.0.0/16")};
  const AddressGuard none{}, some{allowed, nullptr};
  EXPECT_THAT(CheckAddress(Ip("203.0.113.5"), 443, none), IsOk());
  EXPECT_THAT(CheckAddress(Ip("10.1.1.1"), 443, none), FailsWith(ErrorCode::kUpstreamAddressRefused));
  EXPECT_THAT(CheckAddress(Ip("10.1.1.1"), 443, some), IsOk());
  EXPECT_THAT(CheckAddress(Ip("::ffff:10.1.1.1"), 443, some), IsOk());
  EXPECT_THAT(CheckAddress(Ip("192.168.0.1"), 443, some), FailsWith(ErrorCode::kUpstreamAddressRefused));
  EXPECT_THAT(CheckAddress(Ip("169.254.7.7"), 443, some), IsOk());
  // A metadata address is never opened by a block that merely covers it.
  EXPECT_THAT(CheckAddress(Ip("169.254.169.254"), 80, some), FailsWith(ErrorCode::kUpstreamAddressRefused));
  EXPECT_THAT(CheckAddress(Ip("::ffff:169.254.169.254"), 80, some), FailsWith(ErrorCode::kUpstreamAddressRefused));
  const std::vector<Cidr> itself = {Block("169.254.169.254")};
  EXPECT_THAT(CheckAddress(Ip("169.254.169.254"), 80, AddressGuard{itself, nullptr}), IsOk());
}

TEST(AddressGuardTest, OwnListenersAreALoopWhateverIsAllowed) {  // B75
  OwnListeners own({Ip("192.168.7.7"), Ip("203.0.113.77")});
  own.AddPort(7480);
  const std::vector<Cidr> allowed = {Block("0.0.0.0/0"), Block("::/0")};
  const AddressGuard guard{allowed, &own};
  for (const char* mine : {"127.0.0.1", "127.1.2.3", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "192.168.7.7",
                           "203.0.113.77", "::ffff:192.168.7.7"}) {
    EXPECT_THAT(CheckAddress(Ip(mine), 7480, guard), FailsWith(ErrorCode::kLoop)) << mine;
    EXPECT_THAT(CheckAddress(Ip(mine), 7481, guard), IsOk()) << mine;
  }
  EXPECT_THAT(CheckAddress(Ip("192.168.7.8"), 7480, guard), IsOk());
}

TEST(AddressGuardTest, AMixedAnswerIsRefusedAsAWhole) {  // B69
  const std::vector<IpAddress> mixed = {Ip("203.0.113.5"), Ip("169.254.169.254")};
  EXPECT_THAT(CheckAddresses(mixed, 443, {}), FailsWith(ErrorCode::kUpstreamAddressRefused));
  EXPECT_THAT(CheckAddresses({}, 443, {}), FailsWith(ErrorCode::kUpstreamUnresolved));
}

}  // namespace
}  // namespace credbroker::net
