#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "wire/parse_result.h"
#include "wire/pktline.h"

namespace credbroker::wire {

enum class PushKind { kCreate, kUpdate, kDelete };

// One line of a push: move `ref` from `old_id` (the client's claim) to `new_id`. A forced push looks like any update.
struct PushCommand {
  std::string old_id, new_id;  // 40 or 64 lower-case hex digits, all of one length
  std::string ref;             // byte for byte
  PushKind kind = PushKind::kUpdate;
};

enum class ShallowLines { kRefuse, kAllow };

struct PushLimits {
  std::size_t max_commands = 1000;           // kTooManyRefs
  std::size_t max_options = 64;              // push options
  std::size_t max_list_bytes = 1024 * 1024;  // everything before the pack: kBodyTooLarge
  ShallowLines shallow = ShallowLines::kRefuse;
};

// What the client wrote before the pack.
struct PushRequest {
  std::vector<PushCommand> commands;
  std::vector<std::string> capabilities;
  std::vector<std::string> options;
  std::vector<std::string> shallow;  // commits whose parents the client does not have
  bool probe = false;     // only a flush, which git sends before a chunked push
  bool has_pack = false;  // false if all commands delete

  bool Has(std::string_view capability) const;  // by whole name: `atomic`, `side-band-64k`
};

// Reads the start of a git-receive-pack request body, up to the pack.
//
// Refuses what the server could read in another way: kBadGitRequest for broken framing, ids of mixed length, both ids
// zero, NUL outside the first command, control bytes, a delimiter or response-end packet, a ref named twice, no PACK
// right behind the list, bytes behind a list of deletions; kOddRef for a name outside refs/ or not well-formed;
// kPushCertificate; kShallowPush; kTooManyRefs; kBodyTooLarge. A refused name, a repeated one and a shallow line are
// reported at the end of the list, so that request() can name every ref in the refusal.
class ReceivePackParser {
 public:
  explicit ReceivePackParser(const PushLimits& limits = {}) : limits_(limits) {}

  // `body` is all of the decoded body so far (the same bytes as before, then more); packets already read are not read
  // again. On kComplete `consumed` is where the pack starts, or the end of the body.
  ParseResult Parse(std::string_view body, EndOfBody end);

  // On kComplete all of it; after an error what was read until then. Lives as long as the parser.
  const PushRequest& request() const { return request_; }

 private:
  enum class Section { kCommands, kOptions, kPack };
  base::ErrorCode TakePkt(const Pkt& pkt);
  base::ErrorCode TakeCommandLine(std::string_view payload);
  base::ErrorCode TakeCommand(std::string_view line);
  base::ErrorCode TakeCapabilities(std::string_view text);
  base::ErrorCode TakeOption(std::string_view line);
  ParseResult FinishAtPack(std::string_view body, EndOfBody end);
  void Defer(base::ErrorCode code);

  PushLimits limits_;
  PushRequest request_;
  Section section_ = Section::kCommands;
  std::size_t offset_ = 0;          // start of the first packet not read yet
  std::size_t id_digits_ = 0;       // set by the first command
  std::size_t shallow_digits_ = 0;  // set by the first shallow line
  std::set<std::string, std::less<>> refs_;
  base::ErrorCode deferred_ = base::ErrorCode::kNone;
};

// The rules of `git check-ref-format`, byte for byte.
bool IsWellFormedRef(std::string_view ref);
// What a push may name here: well-formed, UTF-8, and at least two components under refs/.
bool IsPushableRef(std::string_view ref);

}  // namespace credbroker::wire
