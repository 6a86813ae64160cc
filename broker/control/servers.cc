#include "control/servers.h"

#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "control/access_list.h"
#include "control/event_log.h"
#include "control/local_socket.h"
#include "control/services.h"
#include "crypto/certificate.h"
#include "model/authority.h"
#include "reveal/secret_reveal.h"

namespace credbroker::control {
namespace {

constexpr int kMaxThreads = 32;
// A policy of the largest size, as text in a message.
constexpr int kMaxMessageBytes = 16 << 20;
constexpr absl::Duration kServerCertificateLife = absl::Hours(24 * 397);
constexpr std::size_t kMaxAccessFile = 64 * 1024;
constexpr char kAdminAccess[] = "admin";

// One gRPC server with its services and what its door proves.
struct DoorServer {
  Door door;
  std::vector<std::unique_ptr<grpc::Service>> services;
  std::unique_ptr<grpc::Server> server;
};

// gRPC's own messages, as lines of the process log.
void LogFromGrpc(gpr_log_func_args* args) {
  const Level level = args->severity == GPR_LOG_SEVERITY_ERROR ? Level::kWarning : Level::kInfo;
  LogEvent(level, "grpc", {{"text", args->message}});
}

absl::Status StartDoor(const std::string& address, const std::shared_ptr<grpc::ServerCredentials>& credentials,
                       DoorServer* door, int* port) {
  grpc::ResourceQuota quota;
  quota.SetMaxThreads(kMaxThreads);
  grpc::ServerBuilder builder;
  builder.SetResourceQuota(quota);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // Two brokers on one port would each get some of the calls.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 256 * 1024);         // shipments of edges come in few frames
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1024 * 1024);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (!address.empty()) builder.AddListeningPort(address, credentials, port);
  for (const auto& service : door->services) builder.RegisterService(service.get());
  door->server = builder.BuildAndStart();
  if (!door->server) return base::Error(base::ErrorCode::kPortInUse, address);
  return absl::OkStatus();
}

struct TlsFiles {
  std::string chain;
  base::Secret key;
};

// The certificate is made anew at each start: callers pin its CA, not the certificate.
absl::StatusOr<TlsFiles> MakeTls(const Keys& keys, const std::string& host, absl::Time now) {
  ASSIGN_OR_RETURN(crypto::KeyPair pair, crypto::GenerateP256Key());
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  char machine[256] = {};
  for (const std::string& name : {host, std::string(gethostname(machine, sizeof machine - 1) == 0 ? machine : "")}) {
    const auto parsed = model::ParseHost(name);
    if (parsed.ok() && std::find(names.begin(), names.end(), parsed->host) == names.end())
      names.push_back(parsed->host);
  }
  ASSIGN_OR_RETURN(std::string chain, keys.api_ca->SignServer(names, pair.public_key_der, now, kServerCertificateLife));
  return TlsFiles{std::move(chain), std::move(pair.private_key_pem)};
}

absl::Status WriteAccessFile(const std::string& path, const std::string& address, const Keys& keys, std::string token) {
  std::string text =
      nlohmann::json{{"address", address}, {"ca_pem", keys.api_ca->certificate_pem()}, {"token", token}}.dump(2);
  text += "\n";
  const absl::Status written = base::WriteFileAtomic(path, text, 0600);
  base::WipeString(text);
  base::WipeString(token);
  return written;
}

// First start: a new access. Later: only the address of a file that is still there is brought up to date.
absl::Status KeepAdminAccess(Core& core, const std::string& address) {
  const std::string path = base::StrCat(core.data_dir(), "/admin/admin.access");
  if (!core.accesses().Exists(kAdminAccess)) {
    ASSIGN_OR_RETURN(const base::Secret token, core.accesses().Create({.name = kAdminAccess, .roles = Roles::Owner()}));
    return WriteAccessFile(path, address, core.keys(), std::string(token.Reveal(base::SecretReveal{})));
  }
  absl::StatusOr<std::string> text = base::ReadFile(path, kMaxAccessFile);
  if (!text.ok()) return absl::OkStatus();  // an admin took it away: good
  nlohmann::json kept = nlohmann::json::parse(*text, nullptr, false);
  base::WipeString(*text);
  if (!kept.is_object() || !kept.contains("token") || !kept["token"].is_string()) return absl::OkStatus();
  return WriteAccessFile(path, address, core.keys(), kept["token"].get<std::string>());
}

}  // namespace

class Servers::Impl {
 public:
  explicit Impl(Core& core) : core_(core) {}
  ~Impl() { Shutdown(absl::ZeroDuration()); }

  absl::Status StartLocal();
  absl::StatusOr<std::string> StartTcp(const std::string& address);
  absl::Status StartEdge();
  absl::Status AdoptEdge(base::Fd connection);
  void Shutdown(absl::Duration grace);

 private:
  absl::Status AddLocal(uid_t uid, Roles roles, std::string actor);
  void Hand(base::Fd connection, uid_t uid);

  Core& core_;
  std::map<uid_t, DoorServer> owners_;  // our own user, and root
  DoorServer others_, tcp_, edge_;
  std::unique_ptr<LocalSocket> socket_;
  std::once_flag shut_;
};

absl::Status Servers::Impl::StartLocal() {
  for (const uid_t uid : {geteuid(), uid_t{0}}) {
    if (owners_.contains(uid)) continue;
    DoorServer& owner = owners_[uid];
    owner.door = {.roles = Roles::Owner(), .actor = base::StrCat("uid:", uid)};
    owner.services = MakeApiServices(core_, owner.door);
    RETURN_IF_ERROR(StartDoor({}, nullptr, &owner, nullptr));
  }
  others_.services = MakeApiServices(core_, others_.door);
  RETURN_IF_ERROR(StartDoor({}, nullptr, &others_, nullptr));
  const std::string path = base::StrCat(core_.data_dir(), "/run/api.sock");
  ASSIGN_OR_RETURN(socket_, LocalSocket::Listen(path, [this](base::Fd fd, uid_t uid) { Hand(std::move(fd), uid); }));
  return absl::OkStatus();
}

// gRPC takes the descriptor over. Which server a connection belongs to never changes, so no later call of it can be
// taken for somebody else's.
void Servers::Impl::Hand(base::Fd connection, uid_t uid) {
  const auto owner = owners_.find(uid);
  grpc::Server* server = owner == owners_.end() ? others_.server.get() : owner->second.server.get();
  grpc::AddInsecureChannelFromFd(server, connection.Release());
}

absl::StatusOr<std::string> Servers::Impl::StartTcp(const std::string& address) {
  ASSIGN_OR_RETURN(
      const model::Authority asked,
      model::ParseAuthority(address.ends_with(":0") ? address.substr(0, address.size() - 2) : address, 7443));
  ASSIGN_OR_RETURN(const TlsFiles tls, MakeTls(core_.keys(), asked.host, core_.clock().Now()), "the API's certificate");
  grpc::SslServerCredentialsOptions ssl(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  ssl.pem_key_cert_pairs.push_back({std::string(tls.key.Reveal(base::SecretReveal{})), tls.chain});
  tcp_.door = {.takes_access = true};
  tcp_.services = MakeApiServices(core_, tcp_.door);
  int port = 0;
  RETURN_IF_ERROR(StartDoor(address, grpc::SslServerCredentials(ssl), &tcp_, &port));
  base::WipeString(ssl.pem_key_cert_pairs.front().private_key);
  model::Authority bound = asked;
  bound.port = static_cast<uint16_t>(port);
  RETURN_IF_ERROR(KeepAdminAccess(core_, bound.Text()), "the admin access");
  return base::StrCat("https://", bound.Text());
}

absl::Status Servers::Impl::StartEdge() {
  edge_.door = {
      .roles = Roles::Of(Role::kEdge), .actor = base::StrCat("edge:", kChildEdge), .edge = std::string(kChildEdge)};
  edge_.services.push_back(MakeEdgeService(core_, edge_.door));
  return StartDoor({}, nullptr, &edge_, nullptr);
}

absl::Status Servers::Impl::AdoptEdge(base::Fd connection) {
  grpc::AddInsecureChannelFromFd(edge_.server.get(), connection.Release());
  return absl::OkStatus();
}

void Servers::Impl::Shutdown(absl::Duration grace) {
  std::call_once(shut_, [&] {
    core_.BeginShutdown();
    socket_.reset();
    const auto deadline = std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace);
    std::vector<DoorServer*> doors = {&tcp_, &others_, &edge_};
    for (auto& [uid, owner] : owners_) doors.push_back(&owner);
    for (DoorServer* door : doors) {
      if (door->server) door->server->Shutdown(deadline);
    }
    for (DoorServer* door : doors) {
      if (door->server) door->server->Wait();
    }
  });
}

Servers::Servers(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Servers::~Servers() = default;

absl::StatusOr<std::unique_ptr<Servers>> Servers::Start(Core& core, const ServerOptions& options) {
  gpr_set_log_function(&LogFromGrpc);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto impl = std::make_unique<Impl>(core);
  RETURN_IF_ERROR(impl->StartEdge(), "opening the edge's door");
  ASSIGN_OR_RETURN(std::string url, impl->StartTcp(options.api_address), "opening the API's listener");
  RETURN_IF_ERROR(impl->StartLocal(), "opening the local socket");
  std::unique_ptr<Servers> servers(new Servers(std::move(impl)));
  servers->api_url_ = std::move(url);
  servers->socket_ = base::StrCat("unix:", core.data_dir(), "/run/api.sock");
  return servers;
}

absl::Status Servers::AdoptEdge(base::Fd connection) { return impl_->AdoptEdge(std::move(connection)); }
void Servers::Shutdown(absl::Duration grace) { impl_->Shutdown(grace); }

std::vector<std::unique_ptr<grpc::Service>> MakeApiServices(Core& core, const Door& door) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(MakeSessionService(core, door));
  services.push_back(MakeTokenService(core, door));
  services.push_back(MakePolicyService(core, door));
  services.push_back(MakeSecretService(core, door));
  services.push_back(MakeAuditService(core, door));
  services.push_back(MakeEvidenceService(core, door));
  services.push_back(MakeStatusService(core, door));
  return services;
}

}  // namespace credbroker::control
