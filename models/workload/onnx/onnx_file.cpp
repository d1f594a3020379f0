#include "models/workload/onnx/onnx_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr std::uint64_t kDataBytesMax = 64 << 10;

enum WireType { kVarint = 0, k64Bit = 1, kBytes = 2, k32Bit = 5 };  // of protocol buffers
enum class Message { kModel, kGraph, kTensor };

// Field numbers of onnx.proto.
constexpr std::uint64_t kGraphOfModel = 7;
constexpr std::uint64_t kInitializerOfGraph = 5;
const std::set<std::uint64_t> kDataOfTensor = {4, 5, 6, 7, 9, 10, 11};

class WeightlessCopy {
 public:
  WeightlessCopy(std::istream& in, const std::string& file) : in_(in), file_(file) {
    in_.seekg(0, std::ios::end);
    left_ = static_cast<std::uint64_t>(std::max<std::streamoff>(in_.tellg(), 0));
    in_.seekg(0);
  }

  std::string model() {
    if (left_ == 0) fail("is empty");
    std::string out;
    copy(left_, Message::kModel, out);
    return out;
  }

  [[noreturn]] void fail(const std::string& why) const { refuse(file_, "", why); }

 private:
  [[noreturn]] void fail_format() const {
    fail("must be a complete ONNX model: it is cut off, or something else");
  }

  std::uint64_t varint(std::string& out) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const int byte = in_.get();
      if (byte < 0 || left_ == 0) fail_format();
      --left_;
      out.push_back(static_cast<char>(byte));
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail_format();
  }

  static void append_varint(std::uint64_t value, std::string& out) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  }

  void bytes(std::uint64_t length, std::string& out) {
    if (length > left_) fail_format();
    const std::size_t at = out.size();
    out.resize(at + length);
    in_.read(out.data() + at, static_cast<std::streamsize>(length));
    if (!in_) fail_format();
    left_ -= length;
  }

  // A message of that length; left_ counts to the file's end.
  void copy(std::uint64_t length, Message message, std::string& out) {
    if (length > left_) fail_format();
    const std::uint64_t end = left_ - length;
    while (left_ > end) {
      std::string head;
      const std::uint64_t tag = varint(head);
      switch (tag & 7) {
        case kVarint:
          varint(head);
          break;
        case k64Bit:
          bytes(8, head);
          break;
        case k32Bit:
          bytes(4, head);
          break;
        case kBytes:
          field(tag, message, head);
          break;
        default:
          fail_format();
      }
      out += head;
    }
    if (left_ != end) fail_format();
  }

  // `head` holds the tag; of a field that is left out, nothing afterwards.
  void field(std::uint64_t tag, Message message, std::string& head) {
    std::string length_text;
    const std::uint64_t length = varint(length_text);
    if (length > left_) fail_format();
    const std::uint64_t number = tag >> 3;
    const bool is_graph = message == Message::kModel && number == kGraphOfModel;
    const bool is_tensor = message == Message::kGraph && number == kInitializerOfGraph;
    if (is_graph || is_tensor) {
      std::string inner;
      copy(length, is_graph ? Message::kGraph : Message::kTensor, inner);
      append_varint(inner.size(), head);
      head += inner;
    } else if (message == Message::kTensor && kDataOfTensor.contains(number) &&
               length > kDataBytesMax) {
      in_.seekg(static_cast<std::streamoff>(length), std::ios::cur);
      left_ -= length;
      head.clear();
    } else {
      head += length_text;
      bytes(length, head);
    }
  }

  std::istream& in_;
  std::string file_;
  std::uint64_t left_ = 0;
};

}  // namespace

onnx::ModelProto read_onnx(std::istream& in, const std::string& file) {
  WeightlessCopy copy(in, file);
  onnx::ModelProto model;
  if (!model.ParseFromString(copy.model()))
    copy.fail("must be an ONNX model: its messages cannot be read");
  return model;
}

onnx::ModelProto read_onnx(const std::string& file) {
  if (std::filesystem::is_directory(file)) refuse(file, "", "is a folder and must be an ONNX file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(file, "", "cannot be opened for reading");
  return read_onnx(stream, file);
}

}  // namespace forescale
