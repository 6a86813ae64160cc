#include "app/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "app/listen_address.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"

namespace credbroker::app {
namespace {

using base::ErrorCode;

constexpr std::size_t kMaxConfigBytes = 256 * 1024;
constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warn", "error"};

constexpr int kMinConnections = 16;
constexpr int kMaxConnections = 30'000;  // half of the descriptors that the edge asks for

// One mapping of the file: keys with the function that takes their value.
class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  using Take = std::function<absl::Status(const YAML::Node&)>;
  using Keys = std::map<std::string, Take, std::less<>>;

  absl::Status ReadMap(const YAML::Node& node, const Keys& keys) const {
    if (!node.IsMap()) return Bad(node, "a mapping is expected here");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string();
      const auto known = keys.find(key);
      if (known == keys.end())
        return Bad(entry.first, base::StrCat("unknown key `", base::EscapeText(key, 60), "`; known: ", Names(keys)));
      if (!seen.insert(key).second) return Bad(entry.first, base::StrCat("`", key, "` stands here twice"));
      RETURN_IF_ERROR(known->second(entry.second));
    }
    return absl::OkStatus();
  }

  Take Text(std::string* out) const {
    return [this, out](const YAML::Node& node) -> absl::Status {
      if (!node.IsScalar() || node.Scalar().empty()) return Bad(node, "a text is expected here");
      *out = node.Scalar();
      return absl::OkStatus();
    };
  }

  Take Flag(bool* out) const {
    return [this, out](const YAML::Node& node) -> absl::Status {
      if (!node.IsScalar() || (node.Scalar() != "true" && node.Scalar() != "false"))
        return Bad(node, "true or false is expected here");
      *out = node.Scalar() == "true";
      return absl::OkStatus();
    };
  }

  Take Whole(int* out, int min, int max) const {
    return [this, out, min, max](const YAML::Node& node) -> absl::Status {
      const bool number = node.IsScalar() && base::ParseInt(std::string_view(node.Scalar()), out);
      if (number && *out >= min && *out <= max) return absl::OkStatus();
      return Bad(node, base::StrCat("a whole number from ", min, " to ", max, " is expected here"));
    };
  }

  // A text that `check` must accept.
  Take Checked(std::string* out, std::function<absl::Status(std::string_view)> check) const {
    return [this, out, check = std::move(check)](const YAML::Node& node) -> absl::Status {
      RETURN_IF_ERROR(Text(out)(node));
      const absl::Status checked = check(*out);
      return checked.ok() ? checked : Bad(node, base::View(checked.message()));
    };
  }

  std::string Where(const YAML::Node& node) const { return base::StrCat(name_, ":", node.Mark().line + 1); }
  absl::Status Bad(const YAML::Node& node, std::string_view why) const { return BadAt(node.Mark().line + 1, why); }
  absl::Status BadAt(int line, std::string_view why) const {
    return base::Error(ErrorCode::kConfigInvalid, base::StrCat(name_, ":", line, ": ", why));
  }

 private:
  static std::string Names(const Keys& keys) {
    std::string names;
    for (const auto& [key, take] : keys) base::StrAppend(&names, names.empty() ? "" : ", ", key);
    return names;
  }

  std::string name_;
};

absl::Status CheckAddress(std::string_view text) { return ParseListenAddress(text).status(); }

absl::Status CheckLevel(std::string_view text) {
  if (std::find(kLevels.begin(), kLevels.end(), text) != kLevels.end()) return absl::OkStatus();
  return base::Error(ErrorCode::kConfigInvalid, "log_level is debug, info, warn or error");
}

// `isolation: {kind: microvm}` -> `isolation.kind`; which names there are is the evidence room's business.
absl::Status ReadDeclared(const YAML::Node& node, const Reader& reader, evidence::Declared* out) {
  if (!node.IsMap()) return reader.Bad(node, "a mapping is expected here");
  const auto text = [&](const YAML::Node& value, std::string* to) { return reader.Text(to)(value); };
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string();
    const YAML::Node value = entry.second;
    if (key == "by" || key == "on") {
      RETURN_IF_ERROR(text(value, key == "by" ? &out->by : &out->on));
    } else if (key == "subprocessors" || key == "attestations") {
      if (!value.IsSequence()) return reader.Bad(value, "a list is expected here");
      for (const YAML::Node& item : value) {
        if (key == "subprocessors") {
          RETURN_IF_ERROR(text(item, &out->subprocessors.emplace_back()));
          continue;
        }
        evidence::Attestation& one = out->attestations.emplace_back();
        RETURN_IF_ERROR(reader.ReadMap(item, {{"title", reader.Text(&one.title)}, {"scope", reader.Text(&one.scope)},
                                              {"period", reader.Text(&one.period)}, {"where", reader.Text(&one.where)}}));
      }
    } else if (value.IsMap()) {
      for (const auto& inner : value) RETURN_IF_ERROR(text(inner.second, &out->fields[base::StrCat(key, ".", inner.first.Scalar())]));
    } else {
      RETURN_IF_ERROR(text(value, &out->fields[key]));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadDocument(const YAML::Node& document, const Reader& reader, Config* config) {
  const auto listen = [&](const YAML::Node& node) {
    return reader.ReadMap(node, {{"api", reader.Checked(&config->api, CheckAddress)},
                                 {"proxy", reader.Checked(&config->proxy, CheckAddress)},
                                 {"gateway", reader.Checked(&config->gateway, CheckAddress)},
                                 {"health", reader.Checked(&config->health, CheckAddress)}});
  };
  const auto edge = [&](const YAML::Node& node) {
    return reader.ReadMap(node,
                          {{"enabled", reader.Flag(&config->edge_enabled)},
                           {"user", reader.Text(&config->edge_user)},
                           {"session_sockets", reader.Flag(&config->session_sockets)},
                           {"max_connections", reader.Whole(&config->max_connections, kMinConnections, kMaxConnections)}});
  };
  const auto durability = [&](const YAML::Node& node) -> absl::Status {
    const auto parsed = ParseDurability(node.IsScalar() ? node.Scalar() : std::string());
    if (!parsed.ok()) return reader.Bad(node, base::View(parsed.status().message()));
    config->durability = *parsed;
    return absl::OkStatus();
  };
  const auto declared = [&](const YAML::Node& node) -> absl::Status {
    RETURN_IF_ERROR(ReadDeclared(node, reader, &config->declared));
    const absl::Status checked = evidence::CheckDeclared(config->declared);
    return checked.ok() ? checked : base::Error(base::CodeOf(checked), base::StrCat(reader.Where(node), ": ", base::View(checked.message())));
  };
  return reader.ReadMap(document, {{"listen", listen},
                                   {"declared", declared},
                                   {"data_dir", reader.Text(&config->data_dir)},
                                   {"policy", reader.Text(&config->policy)},
                                   {"durability", durability},
                                   {"edge", edge},
                                   {"log_level", reader.Checked(&config->log_level, CheckLevel)}});
}

}  // namespace

absl::StatusOr<audit::Durability> ParseDurability(std::string_view text) {
  if (text == "sync") return audit::Durability::kSync;
  if (text == "flush") return audit::Durability::kFlush;
  return base::Error(ErrorCode::kConfigInvalid, "durability is sync or flush");
}

absl::Status CheckConfig(const Config& config) {
  for (const std::string* address : {&config.api, &config.proxy, &config.gateway, &config.health}) {
    RETURN_IF_ERROR(CheckAddress(*address), *address);
  }
  RETURN_IF_ERROR(CheckLevel(config.log_level));
  if (config.data_dir.empty() || config.data_dir.front() != '/') {
    return base::Error(ErrorCode::kConfigInvalid, "the data folder must be an absolute path");
  }
  return absl::OkStatus();
}

absl::StatusOr<Config> ParseConfig(std::string_view text, const std::string& name, Config config) {
  const Reader reader(name);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty() || documents.front().IsNull()) return config;
    if (documents.size() > 1) return reader.Bad(documents[1], "one document is expected");
    RETURN_IF_ERROR(ReadDocument(documents.front(), reader, &config));
  } catch (const YAML::Exception& error) {
    return reader.BadAt(error.mark.line + 1, error.msg);
  }
  return config;
}

absl::StatusOr<Config> ReadConfig(const std::string& path, Config config) {
  ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, kMaxConfigBytes), "reading the configuration");
  return ParseConfig(text, path, std::move(config));
}

}  // namespace credbroker::app
