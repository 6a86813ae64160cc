#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "kit/status_matchers.h"
#include "store/store.h"

namespace credbroker::store {

// A kind of store under test: makes an empty one. What else it needs (a folder, a server) it keeps itself.
struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<Store>()> make;
};

inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

// What every store must do. Add a kind with INSTANTIATE_TEST_SUITE_P in store_contract_test.cc.
class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  StoreContract() : store_(GetParam().make()) {}
  std::unique_ptr<Store> store_;
};

inline const absl::Time kStart = absl::FromUnixMicros(1'800'000'000'000'123);

inline Session SampleSession(const std::string& id) {
  Session session;
  session.id = id;
  session.requester = "team-web";
  session.scopes = {"web-agent", "docs"};
  session.phase = model::Phase::kSetup;
  session.state = SessionState::kSetup;
  session.label = model::Label::kTool;
  session.ticket = "T-1 'quoted' \"text\" \xe2\x82\xac";
  session.sandbox = "box-1";
  session.opened_at = kStart;
  session.expires_at = kStart + absl::Hours(2);
  session.idle_limit = absl::Minutes(20);
  session.last_used_at = kStart;
  return session;
}

inline TokenRow SampleToken(const std::string& id, const std::string& parent, const std::string& session) {
  TokenRow token;
  token.id = id;
  token.parent_id = parent;
  token.session = session;
  token.narrowing_json = R"({"repos":["acme/web"]})";
  token.issued_at = kStart;
  token.expires_at = kStart + absl::Minutes(15);
  return token;
}

// A folder of its own, removed at the end. Private, as the store demands.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "/store-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace credbroker::store
