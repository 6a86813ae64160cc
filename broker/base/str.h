#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"

namespace credbroker::base {

// Debian 12 builds Abseil with a string_view of its own, which std::string_view does not convert to. These few
// functions take both, so that the product's own interfaces speak std::string_view everywhere.

namespace internal {
inline void AppendPiece(std::string* out, std::string_view piece) { out->append(piece); }
inline void AppendPiece(std::string* out, char piece) { out->push_back(piece); }
template <std::integral T>
  requires(!std::same_as<T, char> && !std::same_as<T, bool>)
void AppendPiece(std::string* out, T number) {
  char buffer[24];
  out->append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}
template <typename T>
  requires(!std::same_as<absl::string_view, std::string_view> && std::same_as<T, absl::string_view>)
void AppendPiece(std::string* out, T piece) {
  out->append(piece.data(), piece.size());
}
}  // namespace internal

// Appends strings, characters and whole numbers.
template <typename... Pieces>
void StrAppend(std::string* out, const Pieces&... pieces) {
  (internal::AppendPiece(out, pieces), ...);
}

template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  StrAppend(&out, pieces...);
  return out;
}

inline std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

// Reads a whole decimal number; false on anything else, an overflow included.
template <std::integral T>
bool ParseInt(std::string_view text, T* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace credbroker::base
