#include "audit/json_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "audit/canonical.h"
#include "base/str.h"
#include "base/text.h"
#include "crypto/hash.h"

namespace credbroker::audit {
namespace {

// How tokens begin: ours, also percent-encoded, and those of well-known providers.
constexpr std::array<std::string_view, 15> kTokenStarts = {
    "cbt_", "cbt%5f", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-ant-", "sk-proj-",
    "xoxb-", "xoxp-", "akia", "asia"};
constexpr std::size_t kMinTokenBytes = 16;

constexpr auto kTokenFirst = [] {
  std::array<bool, 256> first{};
  for (const std::string_view start : kTokenStarts) {
    first[static_cast<uint8_t>(start[0])] = first[static_cast<uint8_t>(start[0] - 32)] = true;
  }
  return first;
}();

constexpr auto kTokenByte = [] {
  std::array<bool, 256> token{};
  for (const char c : std::string_view("_-.%0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    token[static_cast<uint8_t>(c)] = true;
  }
  return token;
}();

// Length of the run of token bytes at the start of `text`.
std::size_t RunLength(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && kTokenByte[static_cast<uint8_t>(text[length])]) ++length;
  return length;
}

bool BeginsToken(std::string_view run) {
  if (run.size() < kMinTokenBytes || !kTokenFirst[static_cast<uint8_t>(run[0])]) return false;
  for (const std::string_view start : kTokenStarts) {
    // Two letters tell most apart before the call.
    if ((run[0] | 0x20) != start[0] || (run[1] | 0x20) != start[1]) continue;
    if (base::EqualsIgnoreCase(run.substr(0, start.size()), start)) return true;
  }
  return false;
}

}  // namespace

bool IsPlain(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = 0x8080808080808080;
  const auto zeros = [](uint64_t word) { return (word - kOnes) & ~word; };
  const auto odd = [&](uint64_t word) {
    // Of the carries between bytes the lowest odd byte makes the first, so a word without one is judged rightly.
    return ((word | (word - kOnes * 0x20) | zeros(word ^ kOnes * 0x7F) | zeros(word ^ kOnes * '"') | zeros(word ^ kOnes * '\\')) & kHighs) != 0;
  };
  uint64_t word;
  if (text.size() < sizeof word) {
    return std::none_of(text.begin(), text.end(), [](char c) { return c < 0x20 || c == 0x7F || c == '"' || c == '\\'; });
  }
  const char* const last = text.data() + text.size() - sizeof word;
  for (const char* at = text.data(); at < last; at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    if (odd(word)) return false;
  }
  std::memcpy(&word, last, sizeof word);  // some bytes twice
  return !odd(word);
}

bool HoldsToken(std::string_view text) {
  while (text.size() >= kMinTokenBytes) {
    const std::size_t length = RunLength(text);
    const std::string_view run = text.substr(0, length);
    for (std::size_t at = 0; at + kMinTokenBytes <= length; ++at) {
      if (BeginsToken(run.substr(at))) return true;
    }
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return false;
}

void AppendText(std::string_view text, FieldClass field_class, std::size_t limit, std::string* out) {
  if (field_class == FieldClass::kHashed && HoldsToken(text)) {
    return AppendText(MaskTokens(text), FieldClass::kPublic, limit, out);
  }
  if (text.size() > limit || !IsPlain(text)) return AppendJsonString(base::EscapeText(text, limit), out);
  out->push_back('"');
  out->append(text);
  out->push_back('"');
}

std::string TokenFingerprint(std::string_view token) {
  return base::StrCat("[token:", std::string_view(crypto::Sha256Hex(token)).substr(0, 16), ']');
}

std::string MaskTokens(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view run = text.substr(0, RunLength(text));
    std::size_t at = 0;
    while (at < run.size() && !BeginsToken(run.substr(at))) ++at;
    out.append(run, 0, at);
    if (at < run.size()) out += TokenFingerprint(run.substr(at));
    text.remove_prefix(run.size());
    if (text.empty()) break;
    out.push_back(text[0]);  // no token byte
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace credbroker::audit
