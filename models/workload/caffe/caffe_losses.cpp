#include "models/workload/caffe/caffe_losses.hpp"

#include <fmt/format.h>

#include <vector>

#include "models/workload/caffe/caffe_prototxt.hpp"

namespace forescale {

std::string with_losses(const std::string& prototxt, const std::string& file) {
  const caffe::NetParameter net = parse_caffe(prototxt, file);
  std::vector<std::string> tops;
  for (const CaffeLayer& each : training_layers(net, file)) {
    for (const std::string& bottom : each.layer.bottom()) std::erase(tops, bottom);
    for (const std::string& top : each.layer.top()) tops.push_back(top);
  }
  std::string whole = prototxt;
  for (const std::string& top : tops)
    whole += net.layers_size() > 0
                 ? fmt::format(
                       "\nlayers {{ name: \"{0} loss\" type: SOFTMAX bottom: \"{0}\" "
                       "top: \"{0} loss\" }}",
                       top)
                 : fmt::format(
                       "\nlayer {{ name: \"{0} loss\" type: \"Softmax\" bottom: "
                       "\"{0}\" top: \"{0} loss\" }}",
                       top);
  return whole;
}

}  // namespace forescale
