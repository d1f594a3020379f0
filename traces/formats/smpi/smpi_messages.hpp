// The messages of an SMPI trace: which send a receive takes, and which request a wait names.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "traces/formats/smpi/smpi_arguments.hpp"

namespace forescale {

// Between two ranks with one tag, first in, first out.
class SmpiMail {
 public:
  // InputError for a send with wrong numbers.
  explicit SmpiMail(const SmpiTrace& trace);

  // Bytes of the message that the next receive takes. InputError where none is sent, or more than
  // there is room for.
  std::int64_t receive(std::size_t rank, const SmpiCall& call, const SmpiMessage& message);
  // InputError for a message that was not received.
  void check_all_received() const;

  int free_tag() const;  // that no message has

 private:
  struct Sent {
    std::int64_t bytes = 0;
    std::uint32_t line = 0;
  };
  struct Channel {
    std::vector<Sent> sent;
    std::size_t received = 0;
  };

  void send(std::size_t rank, const SmpiCall& call, const SmpiMessage& message);

  const SmpiTrace& trace_;
  std::map<SmpiRequestName, Channel> channels_;
  std::unordered_set<int> tags_;
};

// Requests of a rank that nobody has waited for.
class SmpiRequests {
 public:
  static constexpr int kNone = -1;

  // Several may have one name: a wait takes the oldest.
  void add(const SmpiRequestName& name, int id) { ids_.emplace(name, id); }
  int find(const SmpiRequestName& name) const;  // kNone: there is none
  int take(const SmpiRequestName& name);        // and forgets it
  std::vector<int> take_all();                  // in the order of their ids

 private:
  std::multimap<SmpiRequestName, int> ids_;  // equal names in the order of their adding
};

}  // namespace forescale
