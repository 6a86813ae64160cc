#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "audit/ledger.h"
#include "base/clock.h"
#include "base/file.h"
#include "control/access_list.h"
#include "control/archives.h"
#include "control/audits.h"
#include "control/current_rules.h"
#include "control/edges.h"
#include "control/keys.h"
#include "control/lending.h"
#include "control/metrics.h"
#include "control/policies.h"
#include "control/recorder.h"
#include "control/revocations.h"
#include "control/secrets.h"
#include "control/session_sockets.h"
#include "control/sessions.h"
#include "control/sweeper.h"
#include "control/tokens.h"
#include "evidence/declared.h"
#include "store/store.h"
#include "token/verify.h"
#include "vault/vault.h"

namespace credbroker::control {

struct CoreOptions {
  std::string data_dir;
  audit::Durability durability = audit::Durability::kFlush;
  evidence::Declared declared;  // what the operator says of the deployment
};

// What the process says about itself, set while it starts. Thread-safe.
class Notices {
 public:
  void SetListeners(std::vector<std::string> listeners);
  void SetFallbackUrls(std::string proxy_url, std::string gateway_url);  // until an edge tells its own
  void AddWarning(std::string warning);
  std::vector<std::string> listeners() const;
  std::vector<std::string> warnings() const;
  std::pair<std::string, std::string> urls() const;  // proxy, gateway

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> listeners_, warnings_;
  std::pair<std::string, std::string> urls_;
};

// The broker without its doors: every part that the services share, wired in one place. Parts are thread-safe and live
// as long as the core.
//
// Data folder (0711; all below 0700 unless said): `lock`, `store/` (database), `keys/` (master key), `ledger/` (own),
// `archive/EDGE/`, `pki/ca.pem` (0644), `run/` (0755, the socket), `admin/` (admin.access), `edge/` (the child edge's
// own).
class Core {
 public:
  // Takes the folder (flock), makes or opens everything in it. Fails kAlreadyRunning, kUnsafeFile, kFileUnwritable,
  // kSealBroken, kLedgerTampered and as the parts. `clock` outlives the core.
  static absl::StatusOr<std::unique_ptr<Core>> Open(const CoreOptions& options, const base::Clock& clock);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Starts the sweep of sessions, once a second. Tests call Sweep themselves.
  void StartSweeping();
  void Sweep();
  // Ends all waits and streams; afterwards the doors can be shut.
  void BeginShutdown();
  bool stopping() const { return stopping_; }

  // Why the broker is not healthy: store or ledger cannot be written. Empty when it is.
  std::vector<std::string> Ailments() const;

  const CoreOptions& options() const { return options_; }
  const std::string& data_dir() const { return options_.data_dir; }
  const base::Clock& clock() const { return clock_; }
  absl::Time started_at() const { return started_at_; }
  const Keys& keys() const { return keys_; }
  store::Store& store() { return *store_; }
  vault::Vault& vault() { return *vault_; }
  audit::Ledger& ledger() { return *ledger_; }
  Recorder& recorder() { return *recorder_; }
  const CurrentRules& rules() const { return rules_; }
  EdgeHub& hub() { return hub_; }
  Metrics& metrics() { return metrics_; }
  Notices& notices() { return notices_; }
  AccessList& accesses() { return accesses_; }
  Revocations& revocations() { return revocations_; }
  Tokens& tokens() { return *tokens_; }
  Sessions& sessions() { return *sessions_; }
  SessionSockets& sockets() { return *sockets_; }
  Policies& policies() { return *policies_; }
  Secrets& secrets() { return *secrets_; }
  Lending& lending() { return *lending_; }
  Archives& archives() { return archives_; }
  Audits& audits() { return *audits_; }

 private:
  struct Parts {
    base::Fd lock;
    std::unique_ptr<store::Store> store;
    std::unique_ptr<vault::Vault> vault;
    Keys keys;
    std::unique_ptr<audit::Ledger> ledger;
  };
  Core(const CoreOptions& options, const base::Clock& clock, Parts parts);
  static absl::StatusOr<Parts> OpenParts(const CoreOptions& options, const base::Clock& clock);
  absl::Status Prepare();

  const CoreOptions options_;
  const base::Clock& clock_;
  const absl::Time started_at_;
  base::Fd lock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<vault::Vault> vault_;
  Keys keys_;
  std::unique_ptr<audit::Ledger> ledger_;
  std::unique_ptr<token::Minter> minter_;
  token::Verifier verifier_;
  Metrics metrics_;
  Notices notices_;
  CurrentRules rules_;
  EdgeHub hub_;
  std::unique_ptr<Recorder> recorder_;
  AccessList accesses_;
  Revocations revocations_;
  Archives archives_;
  std::unique_ptr<Tokens> tokens_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<SessionSockets> sockets_;
  std::unique_ptr<Policies> policies_;
  std::unique_ptr<Secrets> secrets_;
  std::unique_ptr<Lending> lending_;
  std::unique_ptr<Audits> audits_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Sweeper> sweeper_;
};

}  // namespace credbroker::control
