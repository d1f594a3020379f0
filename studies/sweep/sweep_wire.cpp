#include "studies/sweep/sweep_wire.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <system_error>

#include "base/error.hpp"
#include "base/json_text.hpp"

namespace forescale {
namespace {

using nlohmann::json;

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw_errno("getifaddrs");
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET ||
        (entry->ifa_flags & IFF_UP) == 0 || (entry->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
    addresses.emplace_back(text.data());
  }
  freeifaddrs(list);
  return addresses;
}

// -1 when nobody answers within a second.
int connection_to(const std::string& address_text, int port) {
  constexpr int kPatience_ms = 1000;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, address_text.c_str(), &address.sin_addr) != 1) return -1;
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  int error = 0;
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    error = errno;
    pollfd waiting{.fd = descriptor, .events = POLLOUT, .revents = 0};
    socklen_t length = sizeof error;
    if (error == EINPROGRESS && poll(&waiting, 1, kPatience_ms) == 1)
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error == 0) return descriptor;
  close(descriptor);
  return -1;
}

}  // namespace

LineSocket::LineSocket(int descriptor) : descriptor_(descriptor) {
  const int yes = 1;
  setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(descriptor_, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

LineSocket::LineSocket(LineSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      is_open_(other.is_open_),
      text_(std::move(other.text_)) {}

LineSocket::~LineSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void LineSocket::close() {
  is_open_ = false;
  text_.clear();
}

bool LineSocket::send(const json& message) {
  const std::string line = message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  std::size_t sent = 0;
  while (is_open_ && sent < line.size()) {
    const ssize_t count =
        ::send(descriptor_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd waiting{.fd = descriptor_, .events = POLLOUT, .revents = 0};
      poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      is_open_ = false;
    }
  }
  return is_open_;
}

std::optional<json> LineSocket::receive() {
  std::array<char, 1 << 16> buffer{};
  while (is_open_) {
    const ssize_t count = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0)
      text_.append(buffer.data(), static_cast<std::size_t>(count));
    else if (count < 0 && errno == EAGAIN)
      break;
    else if (count == 0 || errno != EINTR)
      is_open_ = false;
  }
  const std::size_t end = text_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  json message = parse_json_or_discard(text_.substr(0, end));
  text_.erase(0, end + 1);
  if (message.is_object()) return message;
  close();
  return std::nullopt;
}

std::optional<json> LineSocket::wait(double patience_s) {
  constexpr int kStep_ms = 100;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (true) {
    if (auto message = receive()) return message;
    if (!is_open_ || std::chrono::steady_clock::now() >= end) return std::nullopt;
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    poll(&waiting, 1, kStep_ms);
  }
}

void write_address(const MasterAddress& address, const std::string& file) {
  const std::string fresh = file + ".new";
  const std::string text = json{
      {"host", address.host},
      {"addresses", address.addresses},
      {"port", address.port},
      {"secret",
       address.secret}}.dump();
  const int descriptor = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool is_written =
      descriptor >= 0 &&
      ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      close(descriptor) == 0 && std::rename(fresh.c_str(), file.c_str()) == 0;
  if (!is_written)
    throw InputError(
        {.source = file,
         .path = "",
         .value = "",
         .constraint = "cannot be written: " + std::generic_category().message(errno)});
}

std::optional<MasterAddress> read_address(const std::string& file) {
  std::ifstream stream(file);
  const json content = parse_json_or_discard(stream);
  if (!content.is_object()) return std::nullopt;
  return MasterAddress{.host = content.at("host"),
                       .addresses = content.at("addresses"),
                       .port = content.at("port"),
                       .secret = content.at("secret")};
}

Listener::Listener() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  constexpr int kBacklog = 1024;
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  if (descriptor_ < 0) throw_errno("socket");
  if (bind(descriptor_, reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
      listen(descriptor_, kBacklog) != 0) {
    close(descriptor_);
    throw_errno("listen");
  }
}

Listener::~Listener() { close(descriptor_); }

std::optional<LineSocket> Listener::accept() {
  const int connection = accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return std::nullopt;
  return LineSocket(connection);
}

MasterAddress Listener::address() const {
  sockaddr_in bound{};
  socklen_t length = sizeof bound;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&bound), &length) != 0)
    throw_errno("getsockname");
  std::random_device random;
  return {
      .host = host_name(),
      .addresses = own_addresses(),
      .port = ntohs(bound.sin_port),
      .secret = fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random())};
}

std::vector<std::string> addresses_from_here(const MasterAddress& master) {
  std::vector<std::string> addresses = master.addresses;
  if (master.host == host_name()) addresses.insert(addresses.begin(), "127.0.0.1");
  return addresses;
}

std::optional<LineSocket> connect_to(const std::string& address, int port) {
  const int descriptor = connection_to(address, port);
  if (descriptor < 0) return std::nullopt;
  return LineSocket(descriptor);
}

json to_json(const PointOutcome& outcome) {
  const SweepRow& row = outcome.row;
  return {{"point", outcome.point},  {"exit_code", row.exit_code}, {"reason", row.reason},
          {"answer", row.answer},    {"wall_s", row.wall_s},       {"host", row.host},
          {"finished", row.finished}};
}

PointOutcome outcome_from(const json& message) {
  PointOutcome outcome{.point = message.at("point"), .row = {}};
  SweepRow& row = outcome.row;
  row.exit_code = message.at("exit_code");
  row.reason = message.at("reason");
  row.answer = message.at("answer");
  row.wall_s = message.at("wall_s");
  row.host = message.at("host");
  row.finished = message.at("finished");
  return outcome;
}

}  // namespace forescale
