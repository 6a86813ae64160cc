#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/authority.h"

namespace credbroker::model {

enum class Scheme { kHttps, kHttp };

// One ref that a push wants to change, byte for byte as the client named it.
struct RefChange {
  enum class Kind { kCreate, kUpdate, kDelete };
  // Whether the new tip contains the old one. Only what was proven counts: kUnproven is judged as forced.
  enum class Ancestry { kNotApplicable, kFastForward, kUnproven };
  Kind kind = Kind::kUpdate;
  std::string ref;
  std::string old_id;
  std::string new_id;
  Ancestry ancestry = Ancestry::kUnproven;
};

struct GitFacts {
  enum class Operation {
    kDiscoverFetch,  // GET info/refs?service=git-upload-pack
    kDiscoverPush,   // GET info/refs?service=git-receive-pack
    kFetch,          // POST git-upload-pack
    kPush,           // POST git-receive-pack; no changes = the flush-only probe
    kUnsupported,    // dumb HTTP, upload-archive
  };
  Operation operation = Operation::kUnsupported;
  std::string repository;  // the path in front of the git part, without leading slash and final `.git`
  std::vector<RefChange> changes;
};

// What one request asks, canonical: the only thing about a request that Decide sees.
struct Facts {
  enum class Kind {
    kConnect,  // may a connection to this host be opened at all, and how
    kRequest,  // one HTTP request
  };
  Kind kind = Kind::kRequest;
  Scheme scheme = Scheme::kHttps;
  Authority authority;
  std::string method;  // upper case as sent
  std::string path;    // canonical, without query; "/" at least
  std::optional<GitFacts> git;
};

}  // namespace credbroker::model
