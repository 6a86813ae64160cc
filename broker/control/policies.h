#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "control/caller.h"
#include "control/current_rules.h"
#include "control/edges.h"
#include "control/exception_source.h"
#include "control/recorder.h"
#include "control/tokens.h"
#include "policy/explain.h"
#include "policy/source.h"
#include "store/store.h"
#include "vault/vault.h"

namespace credbroker::control {

enum class DryRun { kNo, kYes };

struct Applied {
  int64_t version = 0;
  std::string digest;
  std::vector<std::string> changes;
  std::vector<std::string> warnings;
  bool unchanged = false;
};

struct PolicyText {
  store::PolicyVersion version;
  policy::PolicySource source;
};

// Whose grant a question is about.
struct AskSession {
  std::string id;
};
struct AskToken {
  std::string text;
};
struct AskScope {
  std::string name;
};
using AskedAbout = std::variant<AskSession, AskToken, AskScope>;

struct ExceptionView {
  policy::Exception exception;
  std::string state;  // active, expired, off
  int64_t uses = 0;
  absl::Time last_use;  // InfinitePast: never
  std::string passes;   // what enters the sandbox or escapes inspection
  bool built_in = false;
};

// The policy in force and its history. One change at a time; readers never wait. Thread-safe.
class Policies {
 public:
  Policies(store::Store& store, vault::Vault& vault, CurrentRules& rules, EdgeHub& hub, Recorder& recorder,
           const Tokens& tokens, const base::Clock& clock)
      : store_(store), vault_(vault), rules_(rules), hub_(hub), recorder_(recorder), tokens_(tokens), clock_(clock) {}

  // Puts the newest stored version in force. Fails kPolicyInvalid when it does not load any more.
  absl::Status Load();

  // Loads, records (who, both digests, whether it widens), stores, swaps, pushes; waits a moment for edges to confirm.
  // Exceptions that were made by command are carried over. A source that does not load changes nothing. Fails kPolicyInvalid, kTooLarge, kLedgerUnavailable.
  absl::StatusOr<Applied> Apply(const policy::PolicySource& source, DryRun dry_run, const Cause& cause);

  // One more exception, or one turned off or on again: a new version, recorded before it acts. Fails kExceptionInvalid,
  // kExceptionNotFound, and as Apply.
  absl::StatusOr<Applied> AddException(const ExceptionWish& wish, const Cause& cause);
  absl::StatusOr<Applied> TurnException(std::string_view id, bool off, const Cause& cause);

  absl::StatusOr<PolicyText> Get(int64_t version) const;              // 0: in force. kPolicyNotFound
  absl::StatusOr<std::vector<store::PolicyVersion>> History() const;  // newest first, without texts
  // From an older version to a newer one; 0 is the one in force (`to`) or the one before it (`from`).
  absl::StatusOr<std::vector<std::string>> Diff(int64_t from, int64_t to) const;

  // What Decide says to each question, in order. A holder may ask about its own token and session only.
  absl::StatusOr<std::vector<policy::Explanation>> Explain(const Caller& caller, const AskedAbout& who,
                                                           const std::vector<policy::Question>& questions) const;
  // Those of the policy, by id, then those that are how this version works.
  absl::StatusOr<std::vector<ExceptionView>> Exceptions() const;
  // Secrets that the policy in force names and that are not put.
  absl::StatusOr<std::vector<std::string>> MissingSecrets(const policy::RuleSet& rules) const;

  static constexpr std::size_t kMaxQuestions = 10'000;
  static constexpr absl::Duration kConfirmWait = absl::Seconds(2);

 private:
  // What a change is, for the record.
  struct Change {
    std::string_view action;     // policy.apply, exception.add, ...
    std::string_view exception;  // the one that is added or turned
  };
  absl::StatusOr<Applied> ApplyLocked(const policy::PolicySource& source, DryRun dry_run, const Change& change, const Cause& cause);
  absl::StatusOr<policy::PolicySource> CurrentSource() const;
  absl::StatusOr<std::shared_ptr<const policy::RuleSet>> LoadVersion(int64_t version) const;
  absl::StatusOr<model::Grant> GrantOf(const Caller& caller, const AskedAbout& who) const;
  absl::Status Record(const Applied& next, std::string_view before, bool widens, const Change& change, const Cause& cause);

  store::Store& store_;
  vault::Vault& vault_;
  CurrentRules& rules_;
  EdgeHub& hub_;
  Recorder& recorder_;
  const Tokens& tokens_;
  const base::Clock& clock_;
  std::mutex apply_mutex_;
};

}  // namespace credbroker::control
