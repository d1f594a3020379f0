#include "traces/formats/smpi/smpi_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "traces/formats/trace_lines.hpp"

namespace forescale {

SmpiMail::SmpiMail(const SmpiTrace& trace) : trace_(trace) {
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank)
    for (const SmpiCall& call : trace.ranks[rank].calls) {
      if (call.action == SmpiAction::kSend || call.action == SmpiAction::kIsend)
        send(rank, call, smpi_message(trace, rank, call));
      if (call.action == SmpiAction::kSendReceive)
        send(rank, call, smpi_exchange(trace, rank, call).sent);
    }
}

void SmpiMail::send(std::size_t rank, const SmpiCall& call, const SmpiMessage& message) {
  const auto source = static_cast<int>(rank);
  channels_[{source, message.peer, message.tag}].sent.push_back({message.bytes, call.line});
  tags_.insert(message.tag);
}

std::int64_t SmpiMail::receive(std::size_t rank, const SmpiCall& call, const SmpiMessage& message) {
  const auto found = channels_.find({message.peer, static_cast<int>(rank), message.tag});
  if (found == channels_.end() || found->second.received == found->second.sent.size())
    trace_.fail(rank, call,
                fmt::format("waits for a message from rank {} with tag {} that it does not send",
                            message.peer, message.tag));
  const Sent& sent = found->second.sent[found->second.received++];
  if (message.bytes > 0 && sent.bytes > message.bytes)
    trace_.fail(rank, call,
                fmt::format("has room for {} bytes, but rank {} sends {} (line {})", message.bytes,
                            message.peer, sent.bytes, sent.line));
  return sent.bytes;
}

void SmpiMail::check_all_received() const {
  for (const auto& [name, channel] : channels_)
    if (channel.received < channel.sent.size())
      fail_at_line(trace_.file_of(static_cast<std::size_t>(name.source)),
                   channel.sent[channel.received].line, "",
                   fmt::format("is a message of rank {} to rank {} with tag {} that it does not "
                               "receive",
                               name.source, name.destination, name.tag));
}

int SmpiMail::free_tag() const {
  int tag = std::numeric_limits<int>::max();
  while (tags_.contains(tag)) --tag;
  return tag;
}

int SmpiRequests::find(const SmpiRequestName& name) const {
  const auto found = ids_.lower_bound(name);
  return found == ids_.end() || found->first != name ? kNone : found->second;
}

int SmpiRequests::take(const SmpiRequestName& name) {
  const auto found = ids_.lower_bound(name);
  if (found == ids_.end() || found->first != name) return kNone;
  const int id = found->second;
  ids_.erase(found);
  return id;
}

std::vector<int> SmpiRequests::take_all() {
  std::vector<int> list;
  for (const auto& [name, id] : ids_) list.push_back(id);
  ids_.clear();
  std::sort(list.begin(), list.end());
  return list;
}

}  // namespace forescale
