// What `caffe time` logs: the network, then "Average time per layer".
//
//   I0408 23:27:35.9 1 net.cpp:42] Initializing net from parameters:
//   name: "alexnet" ... (prototxt, until the next line of the log)
//   I0408 23:27:55.4 1 caffe.cpp:276]      conv1 <tab> forward: 23.2096 ms.
//
// Times are means over iterations. A backward time is of all gradients together; of the first
// layer's weights alone unless the network says force_backward.
#include <fmt/format.h>

#include "calibrate/import/import_format.hpp"
#include "calibrate/import/import_layers.hpp"

namespace forescale {
namespace {

constexpr const char* kNetwork = "Initializing net from parameters:";
constexpr const char* kTimes = "Average time per layer:";

bool recognises_caffe_time(std::string_view line) {
  return contains(line, kNetwork) || contains(line, kTimes);
}

// "I0408 23:27:35.893884 11298 net.cpp:340] text": glog's prefix.
bool has_prefix(std::string_view line) {
  const auto is_digit = [&](size_t at) {
    return at < line.size() && line[at] >= '0' && line[at] <= '9';
  };
  return line.size() > 8 && std::string_view("IWEF").find(line[0]) != std::string_view::npos &&
         is_digit(1) && is_digit(4) && line[5] == ' ' && is_digit(6) && line[8] == ':';
}

class CaffeTimeImporter : public LogImporter {
 public:
  explicit CaffeTimeImporter(ImportTarget& target) : target_(target) {}

  void read(const LogLine& line) override {
    if (contains(line.text, kNetwork)) {
      prototxt_.clear();
      is_network_ = true;
    } else if (contains(line.text, kTimes)) {
      is_network_ = false;
      is_times_ = true;
    } else if (is_network_ && !has_prefix(line.text)) {
      prototxt_ += line.text + "\n";
    } else if (is_times_ && contains(line.text, "Average Forward")) {
      finish(line);
    } else {
      is_network_ = false;
      if (is_times_) read_time(line);
    }
  }

  void end(const LogLine& last) override {
    if (is_times_) {
      target_.refuse_cut(last, "the list of layers does not end with its sums");
      finish(last);
    }
  }

 private:
  void read_time(const LogLine& line) {
    std::string_view text = line.text;
    if (const size_t prefix = text.find("] "); has_prefix(text) && prefix != text.npos)
      text.remove_prefix(prefix + 2);
    const std::vector<std::string_view> words = words_of(text);
    const bool is_backward = words.size() == 4 && words[1] == "backward:";
    if (words.size() != 4 || words[3] != "ms." || (words[1] != "forward:" && !is_backward))
      target_.refuse(line, "must be a layer's time: NAME forward: TIME ms.");
    rows_.push_back({.line = line,
                     .layer = std::string(words[0]),
                     .is_backward = is_backward,
                     .time_s = 1e-3 * target_.positive(line, words[2], "time in ms")});
  }

  void finish(const LogLine& line) {
    is_times_ = false;
    const std::vector<std::string>& named = target_.options().networks;
    if (prototxt_.empty() && named.empty())
      target_.refuse(line, "the log does not show its network: name it with --network");
    add_layer_rows(target_,
                   prototxt_.empty()
                       ? load_layer_network(named.front(), target_.options().batch)
                       : layer_network(prototxt_, target_.file(), target_.options().batch),
                   rows_);
    rows_.clear();
    target_.measurement().library = "Caffe";
  }

  ImportTarget& target_;
  std::string prototxt_;
  std::vector<LayerRow> rows_;
  bool is_network_ = false;
  bool is_times_ = false;
};

std::unique_ptr<LogImporter> open_caffe_time(ImportTarget& target) {
  return std::make_unique<CaffeTimeImporter>(target);
}

const bool kCaffeTimeRegistered = Registry<LogFormat>::add(
    {.name = "caffe-time", .recognises = recognises_caffe_time, .open = open_caffe_time});

}  // namespace
}  // namespace forescale
