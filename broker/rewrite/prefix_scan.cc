#include "rewrite/prefix_scan.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace credbroker::rewrite {
namespace {

#if defined(__x86_64__)

__attribute__((target("avx2"))) __m256i Both(const std::array<std::uint8_t, 16>& half) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(half.data())));
}

// The groups in which the 32 bytes at `p` may stand.
__attribute__((target("avx2"))) __m256i Groups(const char* p, __m256i low, __m256i high) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i nibble = _mm256_set1_epi8(0x0F);
  const __m256i by_low = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, nibble));
  const __m256i by_high = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble));
  return _mm256_and_si256(by_low, by_high);
}

template <typename Tables>
__attribute__((target("avx2"))) std::size_t Scan(const Tables& tables, const char* data, std::size_t at, std::size_t end) {
  const __m256i low0 = Both(tables[0].low), high0 = Both(tables[0].high);
  const __m256i low1 = Both(tables[1].low), high1 = Both(tables[1].high);
  const __m256i low2 = Both(tables[2].low), high2 = Both(tables[2].high);
  for (; at < end; at += 32) {
    const char* const p = data + at;
    const __m256i found =
        _mm256_and_si256(_mm256_and_si256(Groups(p, low0, high0), Groups(p + 1, low1, high1)), Groups(p + 2, low2, high2));
    const auto none = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256())));
    if (none != 0xFFFFFFFF) return at + static_cast<std::size_t>(__builtin_ctz(~none));
  }
  return at;
}

bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }

#else

template <typename Tables>
std::size_t Scan(const Tables&, const char*, std::size_t at, std::size_t) {
  return at;
}
bool HasAvx2() { return false; }

#endif

}  // namespace

PrefixScan::~PrefixScan() { explicit_bzero(tables_.data(), sizeof tables_); }

void PrefixScan::Add(std::string_view text, std::size_t group) {
  usable_ = HasAvx2();
  const auto bit = static_cast<std::uint8_t>(1U << group);
  for (std::size_t i = 0; i < kPrefixBytes; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    tables_[i].low[byte & 15] |= bit;
    tables_[i].high[byte >> 4] |= bit;
  }
}

std::size_t PrefixScan::Next(std::string_view bytes, std::size_t from) const {
  if (bytes.size() < kEdgeBytes || from >= bytes.size() - kEdgeBytes + 1) return from;
  return Scan(tables_, bytes.data(), from, bytes.size() - kEdgeBytes + 1);
}

}  // namespace credbroker::rewrite
