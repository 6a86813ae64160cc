#include "app/health_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>
#include <utility>
#include <vector>

#include "base/macros.h"
#include "base/str.h"
#include "control/event_log.h"

namespace credbroker::app {
namespace {

constexpr std::size_t kMaxHead = 4096;
constexpr std::size_t kMaxVisitors = 64;
constexpr auto kWait = std::chrono::seconds(2);  // for a whole request and its answer

using SteadyClock = std::chrono::steady_clock;

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<HealthServer>> HealthServer::Start(const ListenAddress& address, Pages pages) {
  ASSIGN_OR_RETURN(base::Fd listener, Listen(address), "the health listener");
  base::Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.ok()) return base::WriteError("eventfd", errno);
  const ListenAddress bound{address.host, PortOf(listener)};
  return std::unique_ptr<HealthServer>(new HealthServer(bound, std::move(listener), std::move(wake), std::move(pages)));
}

HealthServer::HealthServer(const ListenAddress& bound, base::Fd listener, base::Fd wake, Pages pages)
    : listener_(std::move(listener)),
      wake_(std::move(wake)),
      pages_(std::move(pages)),
      url_(base::StrCat("http://", bound.Text())),
      port_(bound.port),
      thread_([this] { Run(); }) {}

HealthServer::~HealthServer() {
  const uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof one) != sizeof one) control::LogEvent(control::Level::kError, "wake_failed");
  thread_.join();
}

// One connection: reads a head, then writes the answer.
struct HealthServer::Visitor {
  base::Fd fd;
  SteadyClock::time_point end;
  std::string head, answer;
  std::size_t sent = 0;
};

void HealthServer::Run() {
  std::list<Visitor> visitors;  // oldest first
  std::vector<pollfd> waits;
  while (true) {
    waits.assign({{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}});
    for (const Visitor& visitor : visitors) {
      waits.push_back({visitor.fd.get(), static_cast<short>(visitor.answer.empty() ? POLLIN : POLLOUT), 0});
    }
    const auto left = visitors.empty() ? SteadyClock::duration(-1) : visitors.front().end - SteadyClock::now();
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (poll(waits.data(), waits.size(), visitors.empty() ? -1 : static_cast<int>(std::max<int64_t>(wait, 0))) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) return;
    auto revents = waits.begin() + 2;
    std::erase_if(visitors, [&](Visitor& visitor) {
      const bool ready = (revents++)->revents != 0;
      return (ready && !Step(visitor)) || SteadyClock::now() >= visitor.end;
    });
    if (waits[0].revents == 0) continue;
    base::Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.ok()) continue;
    if (visitors.size() == kMaxVisitors) visitors.pop_front();
    visitors.push_back({std::move(fd), SteadyClock::now() + kWait, {}, {}});
  }
}

// False when the connection is done with.
bool HealthServer::Step(Visitor& visitor) {
  if (visitor.answer.empty()) {
    char buffer[1024];
    const ssize_t count = read(visitor.fd.get(), buffer, sizeof buffer);
    if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
    visitor.head.append(buffer, static_cast<std::size_t>(count));
    if (visitor.head.size() > kMaxHead) return false;
    if (visitor.head.find("\r\n\r\n") == std::string::npos) return true;
    visitor.answer = Answer(visitor.head);
    if (visitor.answer.empty()) return false;
  }
  const std::string_view rest = std::string_view(visitor.answer).substr(visitor.sent);
  const ssize_t count = send(visitor.fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  visitor.sent += static_cast<std::size_t>(count);
  return visitor.sent < visitor.answer.size();
}

// Empty for what is no request.
std::string HealthServer::Answer(std::string_view head) const {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return {};
  const std::string_view method = line.substr(0, first);
  std::string_view path = line.substr(first + 1, second - first - 1);
  path = path.substr(0, path.find('?'));
  const bool reads = method == "GET" || method == "HEAD";
  const Page page = reads ? pages_(path) : Page{.status = 405, .body = "GET only\n"};
  std::string reply = base::StrCat("HTTP/1.1 ", page.status, " ", ReasonPhrase(page.status),
                                   "\r\nContent-Type: ", page.content_type, "\r\nContent-Length: ", page.body.size(),
                                   "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
  if (method != "HEAD") reply += page.body;
  return reply;
}

}  // namespace credbroker::app
