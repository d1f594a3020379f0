// Caffe's text format as parsed messages: syntax, the two forms of a layer and the phases. What the
// layers mean is import_caffe.cpp's.
//
// Grammar: models/workload/caffe/caffe.proto. Unknown fields are skipped, except inside messages
// that know all of Caffe's fields, where they are typing errors.
#pragma once

#include <string>
#include <vector>

#include "models/workload/caffe/caffe.pb.h"

namespace forescale {

// A layer in the current form, whichever the file has.
struct CaffeLayer {
  caffe::LayerParameter layer;
  std::string path;  // "/layer/3"
};

// InputError with file, line, column and message.
caffe::NetParameter parse_caffe(const std::string& text, const std::string& file);

// Those of phase TRAIN (level 0, no stages). InputError when there are none or both forms are
// mixed.
std::vector<CaffeLayer> training_layers(const caffe::NetParameter& net, const std::string& file);

}  // namespace forescale
