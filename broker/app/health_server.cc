#include "app/health_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "control/event_log.h"

namespace credbroker::app {
namespace {

constexpr std::size_t kMaxHead = 4096;
constexpr auto kWait = std::chrono::seconds(2);

using Deadline = std::chrono::steady_clock::time_point;

bool WaitFor(int fd, short events, Deadline deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  pollfd wait{fd, events, 0};
  return left > 0 && poll(&wait, 1, static_cast<int>(left)) > 0;
}

std::optional<std::string> ReadHead(int fd) {
  const Deadline deadline = std::chrono::steady_clock::now() + kWait;
  std::string head;
  char buffer[1024];
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (!WaitFor(fd, POLLIN, deadline)) return std::nullopt;
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count <= 0) return std::nullopt;
    head.append(buffer, static_cast<std::size_t>(count));
    if (head.size() > kMaxHead) return std::nullopt;
  }
  return head;
}

void WriteReply(int fd, std::string_view bytes) {
  const Deadline deadline = std::chrono::steady_clock::now() + kWait;
  while (!bytes.empty() && WaitFor(fd, POLLOUT, deadline)) {
    const ssize_t count = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

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

void HealthServer::Run() {
  while (true) {
    pollfd waits[] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) return;
    if (waits[0].revents == 0) continue;
    const base::Fd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.ok()) Answer(connection.get());
  }
}

void HealthServer::Answer(int fd) {
  const std::optional<std::string> head = ReadHead(fd);
  if (!head) return;
  const std::string_view line = std::string_view(*head).substr(0, head->find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return;
  const std::string_view method = line.substr(0, first);
  std::string_view path = line.substr(first + 1, second - first - 1);
  path = path.substr(0, path.find('?'));
  const bool reads = method == "GET" || method == "HEAD";
  const Page page = reads ? pages_(path) : Page{.status = 405, .body = "GET only\n"};
  std::string reply = base::StrCat("HTTP/1.1 ", page.status, " ", ReasonPhrase(page.status),
                                   "\r\nContent-Type: ", page.content_type, "\r\nContent-Length: ", page.body.size(),
                                   "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
  if (method != "HEAD") reply += page.body;
  WriteReply(fd, reply);
}

}  // namespace credbroker::app
