#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policy/rules.h"

namespace credbroker::policy {

// What of a request's body its effect depends on (policy/body_rules.h).
enum class BodyRule {
  kNone,
  kReview,      // `event`: a comment, or an approval
  kPullCreate,  // `head`: a branch of this repository, or of another one
  kPullEdit,    // `base`: a reviewed change goes elsewhere
  kContents,    // `branch`, and the path: the same effect as a push
  kRefCreate,   // `ref`
  kRefUpdate,   // `force`
  kRefDelete,
  kText,        // commands in texts (`/merge`), and other projects
  kGraphql,     // the document
};

// What one REST request of a forge does. Classes: facts.md 3.1, refined after a dot (`write.issue`).
struct Operation {
  std::string_view effect_class;  // static text
  std::string_view repository;    // `owner/name`, a view into the path; empty for operations of the host
  std::string_view rest;          // of the path, behind the repository
  BodyRule body = BodyRule::kNone;
  bool by_id = false;    // `repository` is the host's number of it
  bool encoded = false;  // `repository` holds encoded slashes
};

// One row of the catalogue, for reports: `POST /repos/{owner}/{repo}/issues` -> `write.issue`.
struct CatalogueRow {
  Preset preset;
  std::string_view method;
  std::string_view path;  // `{x}` one segment, `{n}` a number, `{x...}` one or more segments
  std::string_view effect_class;
  BodyRule body;
};

// Classifies a request; nullopt = not known, which is denied. `path` is canonical and without the API prefix. HEAD is
// classed as GET. Where a literal and a spanning pattern take the same path the one that names more wins (a branch may be
// called `x/protection`). Allocates nothing.
std::optional<Operation> Classify(Preset preset, std::string_view method, std::string_view path);

// As Classify, for a request on a service's host: takes the API prefix off first. nullopt also for hosts and paths that
// carry no API.
std::optional<Operation> ClassifyOn(const Service& service, const ServiceHost& host, std::string_view method,
                                    std::string_view path);

// All rows, sorted by preset.
std::span<const CatalogueRow> Catalogue();

std::string_view PresetName(Preset preset);  // "github"; empty for none

// Whether `granted`, an entry of an `api` list, covers `effect_class`: the same class, or the part before the dot.
bool Covers(std::string_view granted, std::string_view effect_class);

// Whether a class can be granted without a `dangerous:` entry: read, read-host, write, write.x.
bool IsOrdinary(std::string_view effect_class);

// Whether some operation has this class or refines it.
bool IsKnownClass(std::string_view effect_class);

// Classes that rows do not name: what a body makes of an operation.
std::span<const std::string_view> BodyClasses();

}  // namespace credbroker::policy
