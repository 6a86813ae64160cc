#include "audit/canonical.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"

namespace credbroker::audit {
namespace {

// What IsCanonicalObject promises, by the way that copies.
bool ByCopy(std::string_view line) {
  if (!line.starts_with('{')) return false;
  const absl::StatusOr<std::string> canonical = Canonicalize(line);
  return canonical.ok() && *canonical == line;
}

const std::vector<std::string>& Values() {
  static const std::vector<std::string> values = {
      "0", "-0", "7", "-7", "07", "-", "123456789012345", "1234567890123456", "9007199254740993", "1e21", "1e+21", "1E400", "0.5", ".5", "0.50",
      "1.", "5e-324", "1e-999", "+1", "true", "tru", "false", "null", "nul", "\"\"", "\"plain text, longer than a word\"",
      R"("\n")", R"("\u000a")", R"("\u001f")", R"("\u001F")", R"("\u0020")", R"("\/")", R"("\"")", R"("\x")", R"("\u00")", "\"\\", "\"\x7f\"",
      "\"tab\there\"", "\"\xC3\xA9t\xC3\xA9\"", "\"\xff\"", "\"open", "[]", "[ ]", "[1,2]", "[1,]", "[1", "{}", R"({"b":1,"a":2})",
      R"({"a":1,"a":2})", R"({"a":1,"b":{"c":[{}]}})", R"({"":1,"a":2})", R"({"\n":1,"a":2})", R"({"a":1,"\n":2})", R"({"a" :1})", R"({"a":1 })",
      std::string(65, '[') + std::string(65, ']'), std::string(64, '[') + std::string(64, ']'), std::string(63, '[') + std::string(63, ']')};
  return values;
}

TEST(CanonicalCheckTest, AgreesWithTheCanonicalForm) {
  int canonical = 0;
  for (const std::string& value : Values()) {
    for (const std::string& line : {base::StrCat("{\"v\":", value, "}"), base::StrCat("{\"long_name\":[", value, ",", value, "]}"), value}) {
      EXPECT_EQ(IsCanonicalObject(line), ByCopy(line)) << line;
      canonical += IsCanonicalObject(line);
    }
  }
  EXPECT_GT(canonical, 40);
}

TEST(CanonicalCheckTest, AgreesAfterEveryChangeOfOneByte) {
  const std::string line =
      R"({"bytes_down":1024,"code":"","host":"api.example","list":["a","b\n"],"n":-1.5,"path":"/a/\u001f","é":"\\","😀":{"x":null}})";
  ASSERT_TRUE(IsCanonicalObject(line));
  for (std::size_t at = 0; at < line.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = line;
      changed[at] = static_cast<char>(byte);
      ASSERT_EQ(IsCanonicalObject(changed), ByCopy(changed)) << at << " " << byte;
    }
    const std::string_view whole = line;
    const std::string cut = base::StrCat(whole.substr(0, at), whole.substr(at + 1));
    ASSERT_EQ(IsCanonicalObject(cut), ByCopy(cut)) << cut;
    ASSERT_FALSE(IsCanonicalObject(whole.substr(0, at))) << at;
  }
}

TEST(CanonicalCheckTest, RefusesWhatIsTooLong) {
  EXPECT_FALSE(IsCanonicalObject(base::StrCat("{\"v\":\"", std::string(kMaxCanonicalBytes, 'a'), "\"}")));
}

}  // namespace
}  // namespace credbroker::audit
