// Caffe's prototxt to a Network: what a solver in phase TRAIN would build from the file.
//
// Reads `layer {}` and the older `layers {}`. The input's shape is the one given by the caller,
// else crop_size of the data layer (3 channels unless force_gray or is_color: false), input_shape,
// input_dim or input_param.
// Format: caffe.proto of BVLC Caffe (public); our subset is models/workload/caffe/caffe.proto.
// Fields that do not touch shapes, parameters or phases are skipped. Limits: no `layers { layer {}
// }` (before 2013), no shared parameters, one image input; a file cut exactly after a complete
// auxiliary head cannot be told from a shorter network.
#pragma once

#include <optional>
#include <string>

#include "models/workload/network.hpp"

namespace forescale {

// InputError naming file, line and column for text that does not parse, and file and layer for a
// network that does not fit together.
Network import_caffe(const std::string& file,
                     const std::optional<Shape>& input_shape = std::nullopt);
Network import_caffe_text(const std::string& text, const std::string& file,
                          const std::optional<Shape>& input_shape = std::nullopt);

}  // namespace forescale
