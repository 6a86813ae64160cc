#include "wire/push_refusal.h"

#include <algorithm>

#include "base/str.h"

namespace credbroker::wire {
namespace {

constexpr std::string_view kDefaultReason = "refused with the rest of the push";

// Texts may name what the client sent; a terminal must not obey it.
std::string Printable(std::string_view text, bool keep_lines) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(),
      [keep_lines](unsigned char c) { return (c < 0x20 && !(keep_lines && c == '\n')) || c == 0x7F; }, ' ');
  return out;
}

// report := PKT("unpack ok" LF) *PKT("ng" SP ref SP reason LF) flush
std::string Report(const PushRequest& request, std::span<const std::string> reasons) {
  std::string out;
  AppendPkt("unpack ok\n", &out);
  for (std::size_t i = 0; i < request.commands.size(); ++i) {
    const std::string& ref = request.commands[i].ref;
    // git cannot have sent such a name, so no client waits for its line.
    if (Printable(ref, false) != ref) continue;
    const bool given = i < reasons.size() && !reasons[i].empty();
    const std::string reason = Printable(given ? std::string_view(reasons[i]) : kDefaultReason, false).substr(0, 1000);
    AppendPkt(base::StrCat("ng ", ref.substr(0, 32 * 1024), " ", reason, "\n"), &out);
  }
  AppendFlush(&out);
  return out;
}

}  // namespace

std::string RefusalReport(const PushRequest& request, std::string_view message, std::span<const std::string> reasons) {
  const bool side_band = request.Has("side-band-64k");
  const bool report = request.Has("report-status") || request.Has("report-status-v2");
  std::string out;
  if (side_band && !message.empty()) AppendSideBand(2, DiscoveryRefusal(message), &out);
  if (report && !side_band) return Report(request, reasons);
  if (report) AppendSideBand(1, Report(request, reasons), &out);
  AppendFlush(&out);
  return out;
}

std::string DiscoveryRefusal(std::string_view message) {
  std::string text = Printable(message, true);
  if (!text.ends_with('\n')) text.push_back('\n');
  return text;
}

}  // namespace credbroker::wire
