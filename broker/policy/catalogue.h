#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policy/rules.h"

namespace credbroker::policy {

// What one REST request of a forge does. Classes: facts.md 3.1, refined after a dot (`write.issue`).
struct Operation {
  std::string_view effect_class;  // static text
  std::string_view repository;    // `owner/name`, a view into the path; empty for operations of the host
};

// One row of the catalogue, for reports: `POST /repos/{owner}/{repo}/issues` -> `write.issue`.
struct CatalogueRow {
  std::string_view method;
  std::string_view path;  // `{x}` one segment, `{n}` a number, `{x...}` one or more segments
  std::string_view effect_class;
  bool github = false;
  bool gitea = false;
};

// Classifies a request; nullopt = not known, which is denied. `path` is canonical and without the API prefix. HEAD is
// classed as GET.
std::optional<Operation> Classify(Preset preset, std::string_view method, std::string_view path);

// As Classify, for a request on a service's host: takes the API prefix off first. nullopt also for hosts and paths that
// carry no API.
std::optional<Operation> ClassifyOn(const Service& service, const ServiceHost& host, std::string_view method,
                                    std::string_view path);

// All rows, in the order in which they are tried.
std::span<const CatalogueRow> Catalogue();

// Whether `granted`, an entry of an `api` list, covers `effect_class`: the same class, or the part before the dot.
bool Covers(std::string_view granted, std::string_view effect_class);

// Whether a class can be granted without a `dangerous:` entry: read, read-host, write, write.x.
bool IsOrdinary(std::string_view effect_class);

// Whether some row has this class or refines it.
bool IsKnownClass(std::string_view effect_class);

}  // namespace credbroker::policy
