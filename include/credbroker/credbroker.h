#pragma once

// The names by which programs meet Credbroker: version, environment variables, gRPC metadata, ports. All of them are
// stable promises; a new name may be added in a minor version, none is taken away or given another meaning.

#define CREDBROKER_VERSION_MAJOR 0
#define CREDBROKER_VERSION_MINOR 1
#define CREDBROKER_VERSION_PATCH 0
#define CREDBROKER_VERSION "0.1.0"

namespace credbroker {

// Environment variables that the command line reads. Flags win over them.
//
// The broker: `unix:PATH` or `HOST:PORT`. Default: `unix:` + kDefaultSocket.
inline constexpr char kAddressVariable[] = "CREDBROKER_ADDRESS";
// The holder's token, as the sandbox got it. Also set by `credbroker env` and `credbroker run`.
inline constexpr char kTokenVariable[] = "CREDBROKER_TOKEN";
// File of a remote admin's access (JSON: address, ca_pem, token). Never handed to a sandbox.
inline constexpr char kAccessVariable[] = "CREDBROKER_ACCESS";
// PEM file with the CA of the broker's API, for HOST:PORT addresses without an access file.
inline constexpr char kApiCaVariable[] = "CREDBROKER_API_CA";

// Variables that `credbroker env` and `credbroker run` set beside those that tools know.
//
// The edge's forward proxy without login, `http://127.0.0.1:7480`.
inline constexpr char kProxyVariable[] = "CREDBROKER_PROXY";
// The edge's gateway, `http://127.0.0.1:7481`: base URLs are this + `/HOST/path`.
inline constexpr char kGatewayVariable[] = "CREDBROKER_GATEWAY";

// The user name that goes with the token where a tool needs two (proxy login, git). The edge does not look at it.
inline constexpr char kTokenUser[] = "credbroker";

// gRPC metadata.
//
// Request: the holder's token, on calls that speak for a token.
inline constexpr char kTokenMetadata[] = "credbroker-token";
// Request: `Bearer ` + an admin's token, on TCP.
inline constexpr char kAdminMetadata[] = "authorization";
// Trailing, on every failed call: the number in the error catalogue.
inline constexpr char kErrorMetadata[] = "credbroker-error";

// Where things are unless told otherwise. All listeners are on loopback.
inline constexpr char kDefaultDataDir[] = "/var/lib/credbroker";
inline constexpr char kDefaultSocket[] = "/var/lib/credbroker/run/api.sock";
inline constexpr int kDefaultApiPort = 7443;
inline constexpr int kDefaultProxyPort = 7480;
inline constexpr int kDefaultGatewayPort = 7481;
inline constexpr int kDefaultHealthPort = 7490;

}  // namespace credbroker
