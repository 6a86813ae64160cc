#pragma once

namespace credbroker::base {

// The key that `Secret::Reveal` asks for. Only rooms that link `reveal` can name it, so every place that
// reads a secret's bytes is found by searching for this word.
class SecretReveal {};

}  // namespace credbroker::base
