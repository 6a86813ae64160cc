#pragma once

#include <string_view>

namespace credbroker::evidence {

// The note on the architecture that goes into each bundle (S24, S36). Text of this version; broker/README.md has more.
inline constexpr std::string_view kArchitectureNote = R"(# Credbroker: how it is built

Two processes. The broker keeps secrets, policy, sessions and the archive of all ledgers, and mints tokens; it never parses a byte that a
sandbox sent over HTTP. The edge is the only process that does; it holds a snapshot of the policy, verification keys, revocations and
leases in memory, its own ledger on disk, and no code that opens the vault.

    sandbox -- HTTP proxy, gateway or the session's own socket --> edge -- TLS --> upstream
                                                                     |
                                                                   broker -- store, vault, ledger

The way of a request: who (a signed token, its time, its revocation) - where (CONNECT name, server name and Host are one; the name is resolved once,
every address judged) - what (the request's head, git's command list) - one pure decision on the policy in force - the record of intent, in the
ledger before anything else happens - the credential, lent for minutes - injected into the one granted place - the answer, with the credential's
value taken out - the record of the outcome.

What does not hold is refused: an unknown host, an ambiguous request, a ledger that cannot be written, a broker that was not heard for a minute.

The ledger is a Merkle tree over one JSON line per record, with checkpoints as C2SP signed notes. Whoever has pinned a checkpoint finds an edit, a
cut or a fork of what came before it, without trusting this product.

Limits. It limits what an agent can reach; it does not stop prompt injection, does not replace review, and sees only traffic that reaches the edge.
)";

}  // namespace credbroker::evidence
