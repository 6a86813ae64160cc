#include <algorithm>

#include "base/text.h"
#include "wire/chars.h"
#include "wire/receive_pack.h"

namespace credbroker::wire {
namespace {

// git-check-ref-format(1), rules 1, 3, 4, 5, 8 and 10, per component.
bool IsComponent(std::string_view part) {
  if (part.empty() || part.front() == '.' || part.ends_with(".lock")) return false;
  if (part.find("..") != std::string_view::npos || part.find("@{") != std::string_view::npos) return false;
  return std::none_of(part.begin(), part.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7F || chars::In(c, "~^:?*[\\");
  });
}

}  // namespace

bool IsWellFormedRef(std::string_view ref) {
  if (ref.ends_with('.') || ref.find('/') == std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = ref.find('/');
    if (!IsComponent(ref.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    ref.remove_prefix(slash + 1);
  }
}

bool IsPushableRef(std::string_view ref) {
  constexpr std::string_view kRefs = "refs/";
  // Stricter than git where rules and records need it: two components, and text that JSON can hold as it is.
  return ref.starts_with(kRefs) && ref.find('/', kRefs.size()) != std::string_view::npos && IsWellFormedRef(ref) &&
         base::IsUtf8(ref);
}

}  // namespace credbroker::wire
