#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace credbroker::evidence {

// What only the operator knows (requirements.md 1.9). It is shown as declared, never as verified.
struct Attestation {
  std::string title, scope, period, where;  // all four: a claim without a report that one can read is none
};

struct Declared {
  std::string by;  // who declares
  std::string on;  // RFC 3339 date
  std::map<std::string, std::string, std::less<>> fields;  // `isolation.kind` -> `microvm`; absent: not declared
  std::vector<std::string> subprocessors;
  std::vector<Attestation> attestations;

  // A field's text, or null.
  const std::string* Find(std::string_view name) const;
};

// The names that `fields` may have.
const std::vector<std::string_view>& DeclarableFields();

// Are names and values of `declared` acceptable? Fails kAnswerRefused, with the field: an unknown name, a kind of isolation
// that is not one of the vocabulary (S68), values without `by` and `on`, an attestation that lacks a part, a text that claims
// a certification or says nothing (evidence/lint.h).
absl::Status CheckDeclared(const Declared& declared);

}  // namespace credbroker::evidence
