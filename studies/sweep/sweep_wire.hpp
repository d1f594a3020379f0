// Messages between the master and the workers of a study: JSON, one a line, over TCP.
//
//   worker -> master   {"secret", "study", "version", "slots"}       once
//   master -> worker   {"welcome": true} or {"refused": reason}
//   master -> worker   {"run": place}, at most `slots` at a time
//   worker -> master   {"point": place, "exit_code", "reason", "answer", "wall_s", "host",
//   "finished"} master -> worker   {"end": true}
//
// The master writes where it listens, and a secret that keeps strangers out, to a file that only
// its user can read; workers look for it there.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "studies/sweep/sweep_processes.hpp"

namespace forescale {

// One end of a connection.
class LineSocket {
 public:
  explicit LineSocket(int descriptor);
  ~LineSocket();
  LineSocket(LineSocket&& other) noexcept;
  LineSocket(const LineSocket&) = delete;
  LineSocket& operator=(const LineSocket&) = delete;
  LineSocket& operator=(LineSocket&&) = delete;

  int descriptor() const { return descriptor_; }
  // Waits until all is on its way; false when the other end has gone.
  bool send(const nlohmann::json& message);
  // The next message if one is there; never waits. is_open() is false after the other end has gone,
  // or has sent what is no message.
  std::optional<nlohmann::json> receive();
  // The next message; nothing when none has come after `patience_s` or the other end has gone.
  std::optional<nlohmann::json> wait(double patience_s);
  bool is_open() const { return is_open_; }
  void close();  // nothing is sent or received any more

 private:
  int descriptor_;
  bool is_open_ = true;
  std::string text_;
};

// Where workers find a master: the file beside the database.
struct MasterAddress {
  std::string host;                    // name of the master's machine
  std::vector<std::string> addresses;  // IPv4, "10.0.0.1"
  int port = 0;
  std::string secret;
};
// InputError when it cannot be written.
void write_address(const MasterAddress& address, const std::string& file);
std::optional<MasterAddress> read_address(const std::string& file);  // nothing: not there (yet)

// Listens on a port that is free, on all addresses of this machine.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int descriptor() const { return descriptor_; }
  std::optional<LineSocket> accept();  // never waits
  MasterAddress address() const;       // with a new secret

 private:
  int descriptor_;
};

// What of them to try from this machine, in this order.
std::vector<std::string> addresses_from_here(const MasterAddress& master);
// Nothing when nobody answers there within a second.
std::optional<LineSocket> connect_to(const std::string& address, int port);

nlohmann::json to_json(const PointOutcome& outcome);
PointOutcome outcome_from(const nlohmann::json& message);

}  // namespace forescale
