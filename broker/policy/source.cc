#include "policy/source.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "policy/yaml.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kSchema = "credbroker/policy-source/v1";
constexpr std::size_t kMaxFiles = 1000;

absl::Status Invalid(std::string_view why) { return base::Error(ErrorCode::kPolicyInvalid, why); }

bool IsYamlName(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

// The documents' paths: the file itself, or the folder's, sorted.
absl::StatusOr<std::vector<fs::path>> DocumentPaths(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<fs::path>{path};
  std::vector<fs::path> out;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!IsYamlName(name) || name.front() == '.') continue;  // dot files are editors' leftovers
    out.push_back(at->path());
    if (out.size() > kMaxFiles)
      return base::Error(ErrorCode::kTooLarge, "more than 1000 documents in the policy folder");
  }
  if (error) return base::Error(ErrorCode::kFileUnreadable, base::StrCat(path, ": ", error.message()));
  if (out.empty()) return Invalid(base::StrCat(path, ":1:1: the folder holds no *.yaml or *.yml file"));
  std::sort(out.begin(), out.end());
  return out;
}

void CollectAttachments(const YamlNode& node, std::set<std::string>* names) {
  for (const auto& [key, value] : node.members) {
    if (key.text == "upstream_ca" && value.kind == YamlNode::Kind::kScalar && !value.text.empty())
      names->insert(value.text);
    CollectAttachments(value, names);
  }
  for (const YamlNode& item : node.items) CollectAttachments(item, names);
}

absl::Status CheckSize(const PolicySource& source) {
  std::size_t total = 0;
  for (const auto* list : {&source.documents, &source.attachments}) {
    if (list->size() > kMaxFiles) return base::Error(ErrorCode::kTooLarge, "more than 1000 files in a policy");
    for (const SourceFile& file : *list) {
      if (file.text.size() > kMaxSourceFile)
        return base::Error(ErrorCode::kTooLarge, base::StrCat(file.name, ": more than 1 MiB"));
      total += file.text.size();
    }
  }
  if (total > kMaxSource) return base::Error(ErrorCode::kTooLarge, "the policy's files have more than 4 MiB together");
  return absl::OkStatus();
}

Json FilesJson(const std::vector<SourceFile>& files) {
  Json out = Json::array();
  for (const SourceFile& file : files) out.push_back({{"name", file.name}, {"text", file.text}});
  return out;
}

bool ReadFiles(const Json& json, std::vector<SourceFile>* out) {
  if (!json.is_array()) return false;
  for (const Json& item : json) {
    if (!item.is_object() || item.size() != 2 || !item.contains("name") || !item.contains("text")) return false;
    if (!item["name"].is_string() || !item["text"].is_string()) return false;
    out->push_back({item["name"].get<std::string>(), item["text"].get<std::string>()});
  }
  return true;
}

}  // namespace

absl::StatusOr<PolicySource> ReadPolicySource(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> paths, DocumentPaths(path));
  PolicySource out;
  std::set<std::string> names;
  for (const fs::path& document : paths) {
    SourceFile file{document.filename().string(), {}};
    ASSIGN_OR_RETURN(file.text, base::ReadFile(document.string(), kMaxSourceFile));
    if (!base::IsUtf8(file.text))
      return Invalid(base::StrCat(base::EscapeText(file.name, 256), ":1:1: the text is not UTF-8"));
    YamlNode root;
    YamlProblem problem;
    if (!ParseYaml(file.name, file.text, &root, &problem)) {
      return Invalid(
          base::StrCat(base::EscapeText(file.name, 256), ":", problem.line, ":", problem.column, ": ", problem.what));
    }
    CollectAttachments(root, &names);
    out.documents.push_back(std::move(file));
    RETURN_IF_ERROR(CheckSize(out));
  }
  for (const std::string& name : names) {
    SourceFile file{name, {}};
    ASSIGN_OR_RETURN(file.text, base::ReadFile((paths.front().parent_path() / name).string(), kMaxSourceFile),
                     "reading `upstream_ca`");
    if (!base::IsUtf8(file.text))
      return Invalid(base::StrCat(base::EscapeText(name, 256), ":1:1: a PEM file is text, this is not"));
    out.attachments.push_back(std::move(file));
    RETURN_IF_ERROR(CheckSize(out));
  }
  return out;
}

std::string Serialize(const PolicySource& source) {
  const Json json = {{"schema", std::string(kSchema)},
                     {"documents", FilesJson(source.documents)},
                     {"attachments", FilesJson(source.attachments)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<PolicySource> Parse(std::string_view text) {
  // Escapes make JSON longer than what it holds: six bytes for one at worst.
  if (text.size() > 6 * kMaxSource + (1 << 20)) return base::Error(ErrorCode::kTooLarge, "a serialized policy source");
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object() || json.size() != 3 || json.value("schema", Json()) != std::string(kSchema)) {
    return Invalid("not a serialized policy source");
  }
  PolicySource out;
  if (!json.contains("documents") || !json.contains("attachments") || !ReadFiles(json["documents"], &out.documents) ||
      !ReadFiles(json["attachments"], &out.attachments)) {
    return Invalid("not a serialized policy source");
  }
  RETURN_IF_ERROR(CheckSize(out));
  // Its digest is compared elsewhere: one source has one text.
  if (Serialize(out) != text) return Invalid("a serialized policy source that is not canonical");
  return out;
}

}  // namespace credbroker::policy
