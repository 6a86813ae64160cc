#include "client/ca_bundle.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "crypto/hash.h"

namespace credbroker::client {
namespace {

constexpr std::size_t kMaxRoots = 4 << 20;
constexpr mode_t kReadableByAll = 0644;
constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";

// Debian, Fedora, SUSE, Alpine and BSD, in this order.
constexpr std::array kRootFiles = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                   "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

std::vector<std::string> CacheFolders(const Environment& environment) {
  std::vector<std::string> folders;
  const auto add = [&](const char* variable, const char* below) {
    const std::string value = Variable(environment, variable);
    if (value.starts_with('/')) folders.push_back(base::StrCat(value, below));
  };
  add("XDG_RUNTIME_DIR", "/credbroker");
  add("XDG_CACHE_HOME", "/credbroker");
  add("HOME", "/.cache/credbroker");
  folders.push_back(base::StrCat("/tmp/credbroker-", static_cast<int64_t>(geteuid())));
  return folders;
}

bool Holds(const std::string& path, std::string_view content) {
  const auto present = base::ReadFile(path, kMaxRoots * 2);
  return present.ok() && *present == content;
}

absl::Status WriteInto(const std::string& folder, const std::string& path, std::string_view content) {
  std::error_code absent;
  if (!std::filesystem::is_directory(folder, absent)) RETURN_IF_ERROR(base::MakeFolder(folder, 0755));
  // Whoever could change the bundle could read everything: a folder that another user made in /tmp is not ours.
  RETURN_IF_ERROR(base::CheckOwnership(folder, base::Privacy::kReadableByOthers));
  if (Holds(path, content)) return absl::OkStatus();
  return base::WriteFileAtomic(path, content, kReadableByAll);
}

}  // namespace

absl::StatusOr<std::string> MakeBundle(std::string_view ca_pem) {
  if (ca_pem.find(kBegin) == std::string_view::npos) {
    return base::Error(base::ErrorCode::kInternal, "the broker sent no CA certificate");
  }
  std::string bundle;
  for (const char* path : kRootFiles) {
    std::error_code absent;
    if (!std::filesystem::is_regular_file(path, absent)) continue;
    ASSIGN_OR_RETURN(bundle, base::ReadFile(path, kMaxRoots), "reading the system's roots");
    break;
  }
  if (!bundle.empty() && !bundle.ends_with('\n')) bundle.push_back('\n');
  base::StrAppend(&bundle, ca_pem);
  if (!bundle.ends_with('\n')) bundle.push_back('\n');
  return bundle;
}

absl::StatusOr<std::string> WriteCached(std::string_view name, std::string_view content,
                                        const Environment& environment) {
  const std::string file = base::StrCat("/", name, "-", crypto::Sha256Hex(content).substr(0, 16), ".pem");
  absl::Status last;
  for (const std::string& folder : CacheFolders(environment)) {
    const std::string path = base::StrCat(folder, file);
    last = WriteInto(folder, path, content);
    if (last.ok()) return path;
  }
  return base::WithContext(last, "writing the CA bundle; name a place with --ca-out");
}

absl::StatusOr<std::string> WriteBundle(std::string_view bundle, const std::string& out,
                                        const Environment& environment) {
  if (out.empty()) return WriteCached("ca", bundle, environment);
  const std::string path = std::filesystem::absolute(out).lexically_normal().string();
  RETURN_IF_ERROR(base::WriteFileAtomic(path, bundle, kReadableByAll), base::StrCat("writing ", path));
  return path;
}

}  // namespace credbroker::client
