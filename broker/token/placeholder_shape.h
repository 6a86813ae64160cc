#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "token/placeholder.h"

// The one description of placeholders, shared by the maker and the recogniser.
namespace credbroker::token {

struct PlaceholderShape {
  PlaceholderKind kind;
  std::string_view prefix;
  std::string_view marker;
  std::size_t seed;  // characters
  std::size_t checksum;
  std::string_view suffix;
  std::string_view alphabet;  // 32 or 64 characters

  std::size_t size() const { return prefix.size() + marker.size() + seed + checksum + suffix.size(); }
};

inline constexpr std::string_view kBase32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
inline constexpr std::string_view kLowBase32 = "abcdefghijklmnopqrstuvwxyz234567";

inline constexpr std::array kPlaceholderShapes = {
    PlaceholderShape{PlaceholderKind::kGithub, "ghp_", "credbroker", 18, 8, "", kLowBase32},
    PlaceholderShape{PlaceholderKind::kOpenai, "sk-proj-", "credbroker", 30, 8, "", kLowBase32},
    PlaceholderShape{PlaceholderKind::kAnthropic, "sk-ant-api03-", "credbroker", 75, 8, "AA", kLowBase32},
    PlaceholderShape{PlaceholderKind::kAwsKeyId, "AKIA", "CREDBR", 5, 5, "", kBase32},
    PlaceholderShape{PlaceholderKind::kAwsSecret, "", "credbroker", 22, 8, "", kLowBase32},
    PlaceholderShape{PlaceholderKind::kGeneric, "cbp_", "credbroker", 18, 8, "", kLowBase32},
};

// The checksum of prefix | marker | seed, in the shape's alphabet.
std::string PlaceholderChecksum(const PlaceholderShape& shape, std::string_view body);

// `count` characters of the shape's alphabet, drawn from `bytes`, which are as many.
std::string PlaceholderCharacters(const PlaceholderShape& shape, std::string_view bytes, std::size_t count);

}  // namespace credbroker::token
