#include "client/settings.h"

#include <sys/un.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "credbroker/credbroker.h"
#include "model/authority.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr std::size_t kMaxAccessFile = 256 << 10;
constexpr std::string_view kUnixPrefix = "unix:";

std::string FlagOr(const std::string& flag, const Environment& environment, std::string_view variable) {
  return flag.empty() ? Variable(environment, variable) : flag;
}

absl::Status BadArgument(std::string_view detail) { return base::Error(base::ErrorCode::kBadArgument, detail); }

// The address in the one form that channels and children of `run` get: paths absolute, host names canonical.
absl::Status SetAddress(std::string_view text, Settings* settings) {
  if (text.starts_with(kUnixPrefix)) {
    const std::filesystem::path path(text.substr(kUnixPrefix.size()));
    if (path.empty()) return BadArgument("the address names no socket: write unix:PATH");
    const std::string absolute = std::filesystem::absolute(path).lexically_normal().string();
    if (absolute.size() >= sizeof(sockaddr_un{}.sun_path)) {
      return BadArgument(base::StrCat("the socket's path has more than 107 bytes: ", absolute));
    }
    settings->address = base::StrCat(kUnixPrefix, absolute);
    settings->local = true;
    return absl::OkStatus();
  }
  const auto authority = model::ParseAuthority(text, kDefaultApiPort);
  if (!authority.ok()) return BadArgument(base::StrCat("the address is neither unix:PATH nor HOST:PORT: ", text));
  settings->address = authority->Text();
  settings->local = false;
  return absl::OkStatus();
}

// {"address", "ca_pem", "token"}: what the broker writes to DIR/admin/admin.access.
absl::Status ReadAccess(const std::string& path, std::string* address, Settings* settings) {
  RETURN_IF_ERROR(base::CheckOwnership(path, base::Privacy::kPrivate));
  ASSIGN_OR_RETURN(std::string text, base::ReadFile(path, kMaxAccessFile));
  const nlohmann::json access = nlohmann::json::parse(text, nullptr, false);
  if (!access.is_object()) return BadArgument(base::StrCat("not an access file: ", path));
  const auto field = [&](const char* name) {
    return access.contains(name) && access[name].is_string() ? access[name].get<std::string>() : std::string();
  };
  settings->admin_token = field("token");
  settings->api_ca_pem = field("ca_pem");
  if (settings->admin_token.empty()) return BadArgument(base::StrCat("the access file holds no token: ", path));
  if (address->empty()) *address = field("address");
  return absl::OkStatus();
}

}  // namespace

std::string Variable(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

absl::StatusOr<Settings> ResolveSettings(const Flags& flags, const Environment& environment) {
  Settings settings;
  settings.output = flags.output == "json" ? Output::kJson : Output::kTable;
  settings.token = FlagOr(flags.token, environment, kTokenVariable);
  settings.token_by_flag = !flags.token.empty();

  if (!flags.address.empty() && !flags.data_dir.empty()) {
    return BadArgument("--address and --data-dir both name the broker: give one");
  }
  std::string address = flags.address;
  if (!flags.data_dir.empty()) address = base::StrCat(kUnixPrefix, flags.data_dir, "/run/api.sock");
  const std::string access = FlagOr(flags.access, environment, kAccessVariable);
  // An access file that was named by flag belongs to its own broker, not to the one that the variable names.
  if (address.empty() && flags.access.empty()) address = Variable(environment, kAddressVariable);
  if (!access.empty()) RETURN_IF_ERROR(ReadAccess(access, &address, &settings), "reading the access file");
  if (address.empty()) address = base::StrCat(kUnixPrefix, kDefaultSocket);
  RETURN_IF_ERROR(SetAddress(address, &settings));

  const std::string api_ca = FlagOr(flags.api_ca, environment, kApiCaVariable);
  if (!api_ca.empty() && !settings.local) {
    ASSIGN_OR_RETURN(settings.api_ca_pem, base::ReadFile(api_ca, kMaxAccessFile), "reading the API's CA");
    settings.api_ca_file = std::filesystem::absolute(api_ca).string();
  }
  return settings;
}

}  // namespace credbroker::client
