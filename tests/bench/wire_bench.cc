#include <benchmark/benchmark.h>

#include <string>

#include "bench/scene.h"
#include "wire/chunked.h"
#include "wire/http_head.h"

namespace credbroker::bench {
namespace {

// What git sends.
constexpr std::string_view kGitRequest =
    "POST /acme/web.git/git-upload-pack HTTP/1.1\r\n"
    "Host: git.corp.example\r\n"
    "User-Agent: git/2.39.5\r\n"
    "Accept-Encoding: deflate, gzip, br, zstd\r\n"
    "Content-Type: application/x-git-upload-pack-request\r\n"
    "Accept: application/x-git-upload-pack-result\r\n"
    "Git-Protocol: version=2\r\n"
    "Content-Length: 412\r\n\r\n";

// What an SDK sends: more fields, and a token.
constexpr std::string_view kSdkRequest =
    "POST /v1/messages?beta=true HTTP/1.1\r\n"
    "Host: api.llm.example\r\n"
    "Accept: application/json\r\n"
    "Content-Type: application/json\r\n"
    "User-Agent: Sdk/Python 0.39.0\r\n"
    "X-Sdk-Lang: python\r\n"
    "X-Sdk-Package-Version: 0.39.0\r\n"
    "X-Sdk-OS: Linux\r\n"
    "X-Sdk-Arch: x64\r\n"
    "X-Sdk-Runtime: CPython\r\n"
    "X-Sdk-Runtime-Version: 3.11.2\r\n"
    "Api-Version: 2023-06-01\r\n"
    "X-Api-Key: cbt_v4.public.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
    "Connection: keep-alive\r\n"
    "Content-Length: 1874\r\n\r\n";

constexpr std::string_view kResponse =
    "HTTP/1.1 200 OK\r\n"
    "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 5120\r\n"
    "Connection: keep-alive\r\n"
    "Server: upstream\r\n"
    "X-Request-Id: 0123456789abcdef0123456789abcdef\r\n"
    "Strict-Transport-Security: max-age=31536000; includeSubDomains\r\n"
    "Cache-Control: no-cache\r\n"
    "Vary: Accept-Encoding\r\n\r\n";

void ParseRequest(benchmark::State& state, std::string_view bytes) {
  const wire::HeadLimits limits;
  wire::RequestHead head;
  for (auto _ : state) {
    const wire::ParseResult result = wire::ParseRequestHead(bytes, limits, &head);
    if (!result.complete()) return state.SkipWithError("the head does not parse");
    benchmark::DoNotOptimize(head);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}
BENCHMARK_CAPTURE(ParseRequest, git, kGitRequest);
BENCHMARK_CAPTURE(ParseRequest, sdk, kSdkRequest);

void ParseResponse(benchmark::State& state) {
  const wire::HeadLimits limits;
  wire::ResponseHead head;
  for (auto _ : state) {
    const wire::ParseResult result = wire::ParseResponseHead(kResponse, "POST", limits, &head);
    if (!result.complete()) return state.SkipWithError("the head does not parse");
    benchmark::DoNotOptimize(head);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kResponse.size()));
}
BENCHMARK(ParseResponse);

// A body of 64 KiB in chunks of `range(0)` bytes.
void DecodeChunked(benchmark::State& state) {
  constexpr std::size_t kBody = 64 * 1024;
  const auto chunk = static_cast<std::size_t>(state.range(0));
  std::string body;
  for (std::size_t at = 0; at < kBody; at += chunk) wire::AppendChunk(std::string(chunk, 'x'), &body);
  body += wire::kLastChunk;
  for (auto _ : state) {
    wire::ChunkedDecoder decoder(wire::ChunkedDecoder::Side::kResponse);
    std::string_view rest = body;
    std::size_t content = 0;
    for (;;) {
      const wire::ChunkStep step = decoder.Next(rest);
      rest.remove_prefix(step.consumed);
      content += step.data.size();
      if (step.kind != wire::ChunkStep::Kind::kData) break;
    }
    if (!decoder.done() || content != kBody) return state.SkipWithError("the body does not decode");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(body.size()));
}
BENCHMARK(DecodeChunked)->Arg(64)->Arg(4096)->Arg(32768);

}  // namespace
}  // namespace credbroker::bench
