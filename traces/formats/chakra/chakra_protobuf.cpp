// Chakra's binary form: messages of the schema (chakra.proto), each behind its length as a varint.
// The first is GlobalMetadata, the others are Node.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "traces/formats/chakra/chakra.pb.h"
#include "traces/formats/chakra/chakra_builder.hpp"
#include "traces/formats/chakra/chakra_read.hpp"
#include "traces/formats/trace_input.hpp"

namespace forescale {
namespace {

constexpr std::uint64_t kMessageBytesMax = 64 << 20;
constexpr std::size_t kBlockBytes = 1 << 20;

class MessageFile {
 public:
  explicit MessageFile(const std::string& file) : input_(file) {}

  // Moves to the next message; false at the end of the file.
  bool next() {
    begin_ = input_.position();
    if (input_.stream().peek() == std::istream::traits_type::eof()) return false;
    const std::uint64_t length = take_length();
    // In blocks, as a damaged length must not ask for memory that the file cannot fill.
    text_.clear();
    while (text_.size() < length) {
      const std::size_t had = text_.size();
      text_.resize(std::min<std::size_t>(length, had + kBlockBytes));
      input_.stream().read(text_.data() + had, static_cast<std::streamsize>(text_.size() - had));
      if (static_cast<std::size_t>(input_.stream().gcount()) < text_.size() - had)
        fail(fmt::format("a message of {} bytes", length), "is longer than the rest of the file");
    }
    return true;
  }

  template <class Message>
  void parse(Message& message) const {
    if (!message.ParseFromString(text_))
      fail(fmt::format("a message of {} bytes", text_.size()),
           "is no Chakra " + message.GetTypeName().substr(message.GetTypeName().rfind('.') + 1));
  }

  std::string path() const { return fmt::format("byte {}", begin_); }

  [[noreturn]] void fail(const std::string& value, const std::string& constraint) const {
    throw InputError(
        {.source = input_.file(), .path = path(), .value = value, .constraint = constraint});
  }

 private:
  std::uint64_t take_length() {
    std::uint64_t length = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const int byte = input_.stream().get();
      if (byte == std::istream::traits_type::eof()) fail("", "ends within a length");
      length |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (length > kMessageBytesMax) break;
        return length;
      }
    }
    fail("a message", fmt::format("must have at most {} bytes", kMessageBytesMax));
  }

  TraceInput input_;
  std::string text_;
  std::int64_t begin_ = 0;
};

std::optional<double> number(const chakra::Attribute& attribute) {
  using Value = chakra::Attribute;
  switch (attribute.value_case()) {
    case Value::kDoubleVal:
      return attribute.double_val();
    case Value::kFloatVal:
      return attribute.float_val();
    case Value::kUint64Val:
      return static_cast<double>(attribute.uint64_val());
    case Value::kFixed64Val:
      return static_cast<double>(attribute.fixed64_val());
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> integer(const chakra::Attribute& attribute) {
  using Value = chakra::Attribute;
  switch (attribute.value_case()) {
    case Value::kInt32Val:
      return attribute.int32_val();
    case Value::kInt64Val:
      return attribute.int64_val();
    case Value::kUint32Val:
      return attribute.uint32_val();
    case Value::kUint64Val:  // what does not fit becomes negative, which no number may be
      return static_cast<std::int64_t>(attribute.uint64_val());
    case Value::kSint32Val:
      return attribute.sint32_val();
    case Value::kSint64Val:
      return attribute.sint64_val();
    case Value::kFixed32Val:
      return attribute.fixed32_val();
    case Value::kFixed64Val:
      return static_cast<std::int64_t>(attribute.fixed64_val());
    case Value::kSfixed32Val:
      return attribute.sfixed32_val();
    case Value::kSfixed64Val:
      return attribute.sfixed64_val();
    default:
      return std::nullopt;
  }
}

void set(ChakraFields& fields, const chakra::Attribute& attribute) {
  const std::string& name = attribute.name();
  for (const auto& [key, value] :
       {std::pair("comm_type", &fields.comm_type), std::pair("comm_size", &fields.comm_size),
        std::pair("comm_src", &fields.comm_src), std::pair("comm_dst", &fields.comm_dst),
        std::pair("comm_tag", &fields.comm_tag), std::pair("tensor_size", &fields.tensor_size),
        std::pair("stream", &fields.stream), std::pair("tid", &fields.tid)})
    if (name == key) *value = integer(attribute);
  if (name == "is_cpu_op" && attribute.value_case() == chakra::Attribute::kBoolVal)
    fields.is_cpu_op = attribute.bool_val();
  if (name == "is_cpu_op" && integer(attribute)) fields.is_cpu_op = *integer(attribute) != 0;
  if (name == "num_ops") {
    fields.num_ops = number(attribute);
    if (!fields.num_ops && integer(attribute))
      fields.num_ops = static_cast<double>(*integer(attribute));
  }
  if (name == "pg_name") fields.pg_name = attribute.string_val();
  if (name == "involved_dim")
    for (const bool is_involved : attribute.bool_list().values())
      fields.is_partial = fields.is_partial || !is_involved;
}

ChakraFields fields_of(chakra::Node& node) {
  ChakraFields fields{.id = node.id(),
                      .name = std::move(*node.mutable_name()),
                      .type = node.type(),
                      .data_needs = {node.data_deps().begin(), node.data_deps().end()},
                      .control_needs = {node.ctrl_deps().begin(), node.ctrl_deps().end()},
                      .start_us = node.start_time_micros(),
                      .duration_us = node.duration_micros()};
  if (node.has_inputs()) fields.inputs = std::move(*node.mutable_inputs()->mutable_values());
  for (const chakra::Attribute& attribute : node.attr()) set(fields, attribute);
  return fields;
}

// The converter from PyTorch's traces notes the process.
bool is_from_pytorch(const chakra::GlobalMetadata& metadata) {
  for (const chakra::Attribute& attribute : metadata.attr())
    if (attribute.name() == "pid") return true;
  for (const std::string& text : metadata.version_or_attr())
    if (chakra::Attribute attribute; attribute.ParseFromString(text) && attribute.name() == "pid")
      return true;
  return false;
}

// The fields of messages, as far as a head of the file goes.
class HeadScan {
 public:
  explicit HeadScan(const std::string& head) : head_(head) {}

  bool is_at_end() const { return at_ >= head_.size(); }
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 35 && !is_at_end(); shift += 7) {
      const auto byte = static_cast<unsigned char>(head_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  // Field 1 or 2 with a length, which is all that GlobalMetadata has.
  bool skip_metadata_field(std::size_t end) {
    const auto tag = varint();
    if (!tag || (*tag != 0x0a && *tag != 0x12)) return false;
    const auto length = varint();
    if (!length || at_ + *length > end) return false;
    at_ += *length;
    return true;
  }
  std::size_t at() const { return at_; }

 private:
  const std::string& head_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_chakra_protobuf(const std::string& head) {
  // Text has none of the bytes that begin a message's fields, but for the end of the line.
  const bool is_text = std::none_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  if (is_text) return false;
  HeadScan scan(head);
  const auto length = scan.varint();
  if (!length || *length > kMessageBytesMax) return false;
  const std::size_t end = scan.at() + *length;
  while (scan.at() < end && !scan.is_at_end())
    if (!scan.skip_metadata_field(end)) return false;
  if (scan.is_at_end()) return true;
  // Then a Node: its first field is its id (0 is left out), its name or its type.
  const auto node_length = scan.varint();
  if (!node_length || *node_length == 0) return false;
  const auto tag = scan.varint();
  return !tag || *tag == 0x08 || *tag == 0x12 || *tag == 0x18;
}

ChakraRank read_chakra_protobuf(const std::string& file, double flops_per_s) {
  MessageFile messages(file);
  ChakraBuilder builder(file, flops_per_s);
  if (!messages.next()) messages.fail("", "is empty");
  chakra::GlobalMetadata metadata;
  messages.parse(metadata);
  if (is_from_pytorch(metadata)) builder.set_from_pytorch();
  chakra::Node node;
  while (messages.next()) {
    messages.parse(node);
    builder.add(fields_of(node), messages.path());
  }
  return builder.finish();
}

}  // namespace forescale
