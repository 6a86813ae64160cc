#include "control/core.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "control/event_log.h"
#include "store/sqlite.h"
#include "token/mint/mint.h"
#include "vault/master_key.h"

namespace credbroker::control {
namespace {

using base::StrCat;

// The copy of the signing key that the minter holds; the seed is wiped with `seed`.
crypto::SigningKey CopyOf(const crypto::SigningKey& key) {
  const base::Secret seed = key.Seed();
  return *crypto::SigningKey::FromSeed(seed);
}

absl::StatusOr<base::Fd> LockFolder(const std::string& folder) {
  base::Fd fd(open(StrCat(folder, "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.ok()) return base::WriteError(StrCat(folder, "/lock"), errno);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return base::Error(base::ErrorCode::kAlreadyRunning, folder);
  return fd;
}

absl::Status MakeFolders(const std::string& folder) {
  RETURN_IF_ERROR(base::MakeFolder(folder, 0711));
  RETURN_IF_ERROR(base::CheckOwnership(folder, base::Privacy::kReadableByOthers));
  for (const std::string_view name : {"store", "keys", "pki", "admin", "evidence"}) {
    RETURN_IF_ERROR(base::MakeFolder(StrCat(folder, "/", name), 0700));
    RETURN_IF_ERROR(base::CheckOwnership(StrCat(folder, "/", name), base::Privacy::kPrivate));
  }
  return base::MakeFolder(StrCat(folder, "/run"), 0755);
}

EdgeKeys KeysForEdges(const Keys& keys) {
  return {{keys.token_key.public_key().bytes()},
          std::string(kTokenAudience),
          keys.token_assertion(),
          keys.ca->certificate_pem()};
}

token::Verifier MakeVerifier(const Keys& keys) {
  return token::Verifier(token::KeySet({keys.token_key.public_key()}), std::string(kTokenAudience),
                         keys.token_assertion());
}

}  // namespace

void Notices::SetListeners(std::vector<std::string> listeners) {
  const std::lock_guard lock(mutex_);
  listeners_ = std::move(listeners);
}
void Notices::SetFallbackUrls(std::string proxy_url, std::string gateway_url) {
  const std::lock_guard lock(mutex_);
  urls_ = {std::move(proxy_url), std::move(gateway_url)};
}
void Notices::AddWarning(std::string warning) {
  const std::lock_guard lock(mutex_);
  warnings_.push_back(std::move(warning));
}
std::vector<std::string> Notices::listeners() const {
  const std::lock_guard lock(mutex_);
  return listeners_;
}
std::vector<std::string> Notices::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}
std::pair<std::string, std::string> Notices::urls() const {
  const std::lock_guard lock(mutex_);
  return urls_;
}

absl::StatusOr<Core::Parts> Core::OpenParts(const CoreOptions& options, const base::Clock& clock) {
  const std::string& dir = options.data_dir;
  RETURN_IF_ERROR(MakeFolders(dir), "preparing the data folder");
  ASSIGN_OR_RETURN(base::Fd lock, LockFolder(dir), "locking the data folder");
  ASSIGN_OR_RETURN(auto store, store::OpenSqlite(StrCat(dir, "/store/broker.db"), clock), "opening the store");
  const vault::MasterKeyFile master(StrCat(dir, "/keys/master.key"));
  ASSIGN_OR_RETURN(auto vault, vault::Vault::Open(*store, master, clock), "opening the vault");
  ASSIGN_OR_RETURN(Keys keys, OpenKeys(*vault, *store, clock), "opening the keys");
  audit::LedgerOptions ledger_options{.name = "broker", .durability = options.durability};
  ASSIGN_OR_RETURN(
      auto ledger,
      audit::Ledger::Open(StrCat(dir, "/ledger"), keys.ledger_origin(), CopyOf(keys.ledger_key), ledger_options, clock),
      "opening the ledger");
  return Parts{std::move(lock), std::move(store), std::move(vault), std::move(keys), std::move(ledger)};
}

Core::Core(const CoreOptions& options, const base::Clock& clock, Parts parts)
    : options_(options),
      clock_(clock),
      started_at_(clock.Now()),
      lock_(std::move(parts.lock)),
      store_(std::move(parts.store)),
      vault_(std::move(parts.vault)),
      keys_(std::move(parts.keys)),
      ledger_(std::move(parts.ledger)),
      minter_(std::make_unique<token::Minter>(CopyOf(keys_.token_key), std::string(kTokenAudience),
                                              keys_.token_assertion())),
      verifier_(MakeVerifier(keys_)),
      hub_(KeysForEdges(keys_), clock),
      recorder_(std::make_unique<Recorder>(*ledger_, clock)),
      accesses_(*store_),
      revocations_(*store_, hub_, *recorder_, metrics_, clock),
      archives_(StrCat(options.data_dir, "/archive"), *store_, *recorder_, clock),
      tokens_(
          std::make_unique<Tokens>(*store_, rules_, *minter_, verifier_, *recorder_, revocations_, metrics_, clock)),
      sessions_(std::make_unique<Sessions>(*store_, rules_, *tokens_, *recorder_, revocations_, clock)),
      sockets_(std::make_unique<SessionSockets>(*store_, *tokens_, hub_, clock)),
      policies_(std::make_unique<Policies>(*store_, *vault_, rules_, hub_, *recorder_, *tokens_, clock)),
      secrets_(std::make_unique<Secrets>(*vault_, rules_, *recorder_, revocations_)),
      lending_(std::make_unique<Lending>(*store_, *vault_, rules_, hub_, *keys_.ca, metrics_, clock)),
      audits_(std::make_unique<Audits>(*ledger_, archives_, hub_)) {}

absl::StatusOr<std::unique_ptr<Core>> Core::Open(const CoreOptions& options, const base::Clock& clock) {
  ASSIGN_OR_RETURN(Parts parts, OpenParts(options, clock));
  std::unique_ptr<Core> core(new Core(options, clock, std::move(parts)));
  RETURN_IF_ERROR(core->Prepare());
  return core;
}

absl::Status Core::Prepare() {
  RETURN_IF_ERROR(base::WriteFileAtomic(StrCat(data_dir(), "/pki/ca.pem"), keys_.ca->certificate_pem(), 0644));
  RETURN_IF_ERROR(archives_.Open(), "opening the archives");
  RETURN_IF_ERROR(revocations_.Load());
  if (const absl::Status loaded = policies_->Load(); !loaded.ok()) {
    // Everything stays denied until an admin applies one that loads; the broker must run for that.
    LogEvent(Level::kError, "policy_not_loaded", {{"error", std::string(loaded.message())}});
    notices_.AddWarning("the stored policy does not load, so everything is denied: apply one that does");
    hub_.SetPolicy({.version = 0, .source = policy::Serialize({})});
  }
  const audit::LedgerRepair& repair = ledger_->repair();
  if (repair.torn_bytes > 0) {
    LogEvent(Level::kWarning, "ledger_repaired",
             {{"torn_bytes", StrCat(repair.torn_bytes)}, {"kept_in", repair.torn_file}});
  }
  model::Record start{.kind = model::RecordKind::kSystem};
  start.action = "start";
  start.policy_version = rules_.Get()->version();
  if (repair.torn_bytes > 0) start.detail = StrCat("set ", repair.torn_bytes, " torn bytes aside");
  recorder_->WriteOrOwe(std::move(start));
  return absl::OkStatus();
}

Core::~Core() {
  sweeper_.reset();
  hub_.Close();
  model::Record stop{.kind = model::RecordKind::kSystem};
  stop.action = "stop";
  recorder_->WriteOrOwe(std::move(stop));
  if (const absl::Status closed = ledger_->Close(); !closed.ok()) {
    LogEvent(Level::kError, "ledger_close_failed", {{"error", std::string(closed.message())}});
  }
}

void Core::BeginShutdown() {
  stopping_ = true;
  hub_.Close();
}

void Core::StartSweeping() {
  sweeper_ = std::make_unique<Sweeper>(absl::Seconds(1), [this] { Sweep(); });
}

void Core::Sweep() {
  recorder_->PayDebt();
  sessions_->Sweep();
  sockets_->Sweep();
  revocations_.Prune();
}

std::vector<std::string> Core::Ailments() const {
  std::vector<std::string> ailments;
  if (const absl::Status store = store_->CheckWritable(); !store.ok()) {
    ailments.push_back(StrCat("store: ", base::Lookup(base::CodeOf(store)).text));
  }
  if (!ledger_->health().writable) {
    ailments.push_back(StrCat("ledger: ", base::Lookup(base::ErrorCode::kLedgerUnavailable).text));
  }
  return ailments;
}

}  // namespace credbroker::control
