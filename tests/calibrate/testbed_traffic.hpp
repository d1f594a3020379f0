// TCP between two hosts of a testbed, through plain sockets.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "calibrate/testbed/testbed_process.hpp"

namespace forescale::testing {

inline constexpr double kMbit = 1e6 / 8;  // bytes

// A connected pair. A socket stays in the network in which it was made.
class Connection {
 public:
  struct Place {
    std::string network;  // a namespace
    std::string address;
  };

  Connection(const Place& from, const Place& to) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, to.address.c_str(), &address.sin_addr);
    int listener = -1;
    in_namespace(to.network, [&] { listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
    in_namespace(from.network, [&] { sender_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(sender_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(::bind(listener, generic, length), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::getsockname(listener, generic, &length), 0);
    is_open_ = ::connect(sender_, generic, length) == 0;
    if (is_open_) receiver_ = ::accept(listener, nullptr, nullptr);
    if (is_open_) ::setsockopt(receiver_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::close(listener);
  }
  ~Connection() {
    ::close(sender_);
    if (receiver_ >= 0) ::close(receiver_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_open() const { return is_open_; }

  bool carries_a_byte() const {
    char byte = 'x';
    return is_open_ && ::send(sender_, &byte, 1, MSG_NOSIGNAL) == 1 &&
           ::recv(receiver_, &byte, 1, 0) == 1;
  }

  // Bytes per second from the first byte's arrival to the last one's; 0 if they do not arrive.
  double rate(size_t bytes) const {
    std::thread writer([&] {
      const std::vector<char> data(bytes);
      size_t sent = 0;
      while (sent < bytes) {
        const ssize_t count = ::send(sender_, data.data() + sent, bytes - sent, MSG_NOSIGNAL);
        if (count <= 0) return;
        sent += static_cast<size_t>(count);
      }
    });
    std::vector<char> buffer(size_t{1} << 16U);
    size_t received = 0;
    size_t with_first = 0;  // came with the first byte, before the clock ran
    std::chrono::steady_clock::time_point start;
    while (received < bytes) {
      const ssize_t count = ::recv(receiver_, buffer.data(), buffer.size(), 0);
      if (count <= 0) break;
      if (received == 0) {
        start = std::chrono::steady_clock::now();
        with_first = static_cast<size_t>(count);
      }
      received += static_cast<size_t>(count);
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    writer.join();
    return received < bytes ? 0 : static_cast<double>(bytes - with_first) / time.count();
  }

 private:
  int sender_ = -1;
  int receiver_ = -1;
  bool is_open_ = false;
};

}  // namespace forescale::testing
