#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/text.h"

namespace credbroker::crypto {

// A file of the public test vectors: in the folder CREDBROKER_VECTORS, or beside the sources. Nothing, with a visible
// line, where the vectors are not at hand: they are not part of this tree.
inline std::optional<nlohmann::json> ReadVectors(const std::string& name) {
  const char* folder = std::getenv("CREDBROKER_VECTORS");
  const std::string root = folder != nullptr ? folder : CREDBROKER_SOURCE_DIR "/../shared/vectors";
  std::ifstream file(root + "/" + name);
  if (!file) {
    std::printf("test vectors absent, nothing checked: %s\n", name.c_str());
    return std::nullopt;
  }
  return nlohmann::json::parse(file);
}

inline std::string Unhex(const nlohmann::json& text) {
  std::string bytes;
  if (!base::HexDecode(text.get<std::string>(), &bytes)) std::abort();
  return bytes;
}

}  // namespace credbroker::crypto
