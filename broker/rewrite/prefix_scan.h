#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace credbroker::rewrite {

// Finds places where one of many texts may begin, by their first three bytes, 32 places at a time: each text is in one of
// eight groups, and two tables of 16 entries for each of the three bytes (low and high half) say in which groups a byte
// may stand there. The method is known as Teddy (Hyperscan, NSDI 2019). Needs AVX2, asked at run time; without it
// `usable` is false. Built once, then immutable; const use is thread-safe. Room for secrets' first bytes: wiped at the end.
class PrefixScan {
 public:
  static constexpr std::size_t kPrefixBytes = 3;
  static constexpr std::size_t kGroups = 8;

  PrefixScan() = default;
  ~PrefixScan();
  PrefixScan(const PrefixScan&) = delete;
  PrefixScan& operator=(const PrefixScan&) = delete;

  // `text` has at least kPrefixBytes; `group` is below kGroups. Texts that look alike belong in one group.
  void Add(std::string_view text, std::size_t group);
  bool usable() const { return usable_; }

  // The first candidate at or after `from`, or the first place that was not looked at: the last kEdgeBytes places of
  // `bytes` are left to the caller. Some candidates are none; no text begins at a place that was passed over.
  std::size_t Next(std::string_view bytes, std::size_t from) const;
  static constexpr std::size_t kEdgeBytes = 32 + kPrefixBytes - 1;

 private:
  struct alignas(16) Table {
    std::array<std::uint8_t, 16> low{}, high{};
  };
  std::array<Table, kPrefixBytes> tables_{};
  bool usable_ = false;
};

}  // namespace credbroker::rewrite
