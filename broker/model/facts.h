#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/authority.h"
#include "model/body.h"

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

// What a push carries, as the edge read it from the pack. Only what was read counts: anything else is refused where a rule
// asks for it.
struct PushContent {
  enum class State { kUnread, kRead };
  State state = State::kUnread;
  base::ErrorCode fault = base::ErrorCode::kNone;  // why the pack as a whole cannot be judged
  uint64_t pack_bytes = 0;
  uint64_t objects = 0;
  uint64_t largest_blob = 0;

  // Protected paths (policy/protected_path.h): the patterns that were looked for, and the first change that each one covers,
  // per ref.
  struct Touch {
    std::string ref, pattern, path;
  };
  std::vector<std::string> asked;
  std::vector<Touch> touched;
  base::ErrorCode paths_fault = base::ErrorCode::kNone;  // why the changed paths are not known
};

// What an LFS request asks beside its operation.
struct LfsFacts {
  enum class Part { kNone, kBatch, kLocks, kVerifyLocks, kUnlock, kObject };
  Part part = Part::kNone;
  bool force = false;                // unlock what somebody else has locked
  uint64_t largest = 0, total = 0;   // bytes of the objects to upload
  std::optional<Authority> storage;  // kObject: where the object lies; judged beside the request's own host
};

struct GitFacts {
  enum class Operation {
    kDiscoverFetch,  // GET info/refs?service=git-upload-pack
    kDiscoverPush,   // GET info/refs?service=git-receive-pack
    kFetch,          // POST git-upload-pack
    kPush,           // POST git-receive-pack; no changes = the flush-only probe
    kReadBase,       // POST git-upload-pack by the edge itself, for a push whose content a rule compares: `changes` are its own
    kLfsRead,        // LFS: a batch of downloads, a download, a list of locks
    kLfsWrite,       // LFS: a batch of uploads, an upload, its check, a lock: `changes` names the one ref that it is for
    kLfsCheck,       // LFS: whether locks stand in a push's way
    kUnsupported,    // dumb HTTP, upload-archive
  };
  Operation operation = Operation::kUnsupported;
  std::string repository;  // the path in front of the git part, without leading slash and final `.git`
  std::vector<RefChange> changes;
  PushContent content;  // kPush
  LfsFacts lfs;
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
  // What the body says, where the catalogue wants to know; null: it was not read (policy/catalogue.h, BodyRule).
  std::shared_ptr<const BodyFacts> body = nullptr;
};

}  // namespace credbroker::model
