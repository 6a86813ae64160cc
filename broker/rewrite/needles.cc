#include "rewrite/needles.h"

#include <algorithm>
#include <array>

#include "base/secret.h"
#include "base/str.h"
#include "base/text.h"

namespace credbroker::rewrite {
namespace {

// Shorter pieces of a secret would turn up in innocent text.
constexpr std::size_t kMinDerivedBytes = 8;

class NeedleList {
 public:
  explicit NeedleList(std::vector<std::string>* out) : out_(out) {}
  void Add(std::string&& text, std::size_t least) {
    if (text.size() >= least) {
      out_->push_back(std::move(text));
      return;
    }
    base::WipeString(text);
  }

 private:
  std::vector<std::string>* out_;
};

// The digits that `text` alone decides when it stands behind `lead` bytes (0 to 2) and before any others: base64 seen
// inside a longer encoded text.
std::string InnerBase64(std::string_view text, std::size_t lead) {
  std::string padded(lead, '\0');
  padded.append(text);
  std::string encoded = base::Base64Encode(padded);
  const std::size_t first = (lead * 8 + 5) / 6;
  const std::size_t last = padded.size() * 8 / 6;
  std::string inner = encoded.substr(first, last - first);
  base::WipeString(encoded);
  base::WipeString(padded);
  return inner;
}

std::string ToBase64Url(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

// Replaces each byte by what `escape` gives for it.
template <typename Escape>
std::string Escaped(std::string_view text, Escape escape) {
  std::string out;
  out.reserve(text.size() * 6);  // no growth, no copies left behind
  for (const char c : text) escape(c, &out);
  return out;
}

enum class Unreserved { kRfc3986, kJavaScript };
enum class Case { kUpper, kLower };

std::string PercentEncoded(std::string_view text, Unreserved unreserved, Case digits, bool plus_for_space) {
  const std::string_view hex = digits == Case::kUpper ? "0123456789ABCDEF" : "0123456789abcdef";
  const std::string_view plain = unreserved == Unreserved::kRfc3986 ? "-._~" : "-._~!*'()";
  return Escaped(text, [&](char c, std::string* out) {
    const bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (alnum || plain.find(c) != std::string_view::npos) {
      out->push_back(c);
    } else if (c == ' ' && plus_for_space) {
      out->push_back('+');
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out->append({'%', hex[byte >> 4], hex[byte & 15]});
    }
  });
}

void AppendUnicodeEscape(unsigned char byte, std::string_view hex, std::string* out) {
  out->append("\\u00").append({hex[byte >> 4], hex[byte & 15]});
}

// JSON as serialisers write it; `also` are further characters that some escape (`/`, or `<>&'=+` for HTML's sake).
std::string JsonEscaped(std::string_view text, std::string_view also, Case digits) {
  const std::string_view hex = digits == Case::kUpper ? "0123456789ABCDEF" : "0123456789abcdef";
  return Escaped(text, [&](char c, std::string* out) {
    constexpr std::string_view kShort = "\b\f\n\r\t\"\\";
    constexpr std::string_view kLetters = "bfnrt\"\\";
    const std::size_t at = kShort.find(c);
    if (at != std::string_view::npos) {
      out->append({'\\', kLetters[at]});
    } else if (c == '/' && also == "/") {
      out->append("\\/");
    } else if (static_cast<unsigned char>(c) < 0x20 || also.find(c) != std::string_view::npos) {
      AppendUnicodeEscape(static_cast<unsigned char>(c), hex, out);
    } else {
      out->push_back(c);
    }
  });
}

std::string HtmlEscaped(std::string_view text) {
  return Escaped(text, [](char c, std::string* out) {
    switch (c) {
      case '&':
        out->append("&amp;");
        return;
      case '<':
        out->append("&lt;");
        return;
      case '>':
        out->append("&gt;");
        return;
      case '"':
        out->append("&quot;");
        return;
      case '\'':
        out->append("&#39;");
        return;
      default:
        out->push_back(c);
    }
  });
}

void AppendForms(std::string_view text, NeedleList* list) {
  list->Add(std::string(text), kMinNeedleBytes);
  for (std::size_t lead = 0; lead < 3; ++lead) {
    std::string inner = InnerBase64(text, lead);
    list->Add(ToBase64Url(inner), kMinDerivedBytes);
    list->Add(std::move(inner), kMinDerivedBytes);
  }
  std::string hex = base::HexEncode(text);
  std::string upper = hex;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
  list->Add(std::move(hex), kMinDerivedBytes);
  list->Add(std::move(upper), kMinDerivedBytes);
  for (const Case digits : {Case::kUpper, Case::kLower}) {
    for (const Unreserved unreserved : {Unreserved::kRfc3986, Unreserved::kJavaScript}) {
      list->Add(PercentEncoded(text, unreserved, digits, false), kMinNeedleBytes);
      list->Add(PercentEncoded(text, unreserved, digits, true), kMinNeedleBytes);
    }
    for (const std::string_view also : {"", "/", "<>&", "<>&'", "<>&'=+"}) {
      list->Add(JsonEscaped(text, also, digits), kMinNeedleBytes);
    }
  }
  list->Add(HtmlEscaped(text), kMinNeedleBytes);
}

}  // namespace

void AppendNeedles(std::string_view secret, std::string_view basic_username, std::vector<std::string>* out) {
  NeedleList list(out);
  AppendForms(secret, &list);
  if (!basic_username.empty()) {
    std::string login = base::StrCat(basic_username, ":", secret);
    list.Add(base::Base64Encode(login), kMinDerivedBytes);
    list.Add(base::Base64UrlEncode(login), kMinDerivedBytes);
    base::WipeString(login);
  }
  // A log or an API may show a key of several lines line by line. PEM armour is public and would hit everywhere.
  if (secret.find('\n') == std::string_view::npos) return;
  while (!secret.empty()) {
    const std::size_t end = std::min(secret.find_first_of("\r\n"), secret.size());
    const std::string_view line = secret.substr(0, end);
    secret.remove_prefix(std::min(end + 1, secret.size()));
    if (line.size() >= 16 && !line.starts_with("-----")) AppendForms(line, &list);
  }
}

}  // namespace credbroker::rewrite
