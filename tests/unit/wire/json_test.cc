#include "wire/json.h"

#include <gtest/gtest.h>

namespace credbroker::wire {
namespace {

std::string Read(std::string_view text) {
  std::vector<JsonValue> values;
  if (!ReadJson(text, {}, &values).ok()) return "refused";
  std::string out;
  for (const JsonValue& value : values) out += value.path + "=" + value.text + ";";
  return out;
}

TEST(JsonTest, ValuesStandInOrderWithTheirPlaces) {
  EXPECT_EQ(Read(R"({"a":{"b":[1,"x"]},"c":true})"), "=;a=;a/b=;a/b/*=1;a/b/*=x;c=;");
  EXPECT_EQ(Read(" [ ] "), "=;");
  EXPECT_EQ(Read(R"("é\u00e9\ud83d\ude00\n")"), "=\xC3\xA9\xC3\xA9\xF0\x9F\x98\x80\n;");
  EXPECT_EQ(Read("-0.5e+3"), "=-0.5e+3;");
}

TEST(JsonTest, WhatHasTwoReadingsIsRefused) {
  for (const char* text : {"", "{", R"({"a":1,"a":2})", R"({"a":1,"\u0061":2})", R"({"a/b":1})", R"({"*":1})", R"({"":1})", "01", "1.", "+1", "NaN",
                           "1 2", "[1,]", R"({"a":1,})", "'x'", "\"\t\"", "\"\\x\"", "\"\xFF\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", R"("\ud800")",
                           R"("\udc00")", R"("\u0000")", "\xEF\xBB\xBF{}", "// c\n{}", "tru"}) {
    EXPECT_EQ(Read(text), "refused") << text;
  }
}

TEST(JsonTest, LimitsHold) {
  EXPECT_EQ(Read(std::string(40, '[') + std::string(40, ']')), "refused");
  EXPECT_NE(Read(std::string(30, '[') + std::string(30, ']')), "refused");
  std::string many = "[0";
  for (int i = 0; i < 20'000; ++i) many += ",0";
  EXPECT_EQ(Read(many + "]"), "refused");
  EXPECT_EQ(Read("{\"" + std::string(1025, 'k') + "\":1}"), "refused");
  EXPECT_EQ(Read("\"" + std::string(1024 * 1024, 'x') + "\""), "refused");
}

}  // namespace
}  // namespace credbroker::wire
