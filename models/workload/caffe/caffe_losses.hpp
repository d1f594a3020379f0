// Networks that are timed and not trained: Caffe's benchmarks leave out the losses.
#pragma once

#include <string>

namespace forescale {

// The prototxt with a Softmax on every output that nothing uses, as a training network ends in.
// InputError as import_caffe() has it.
std::string with_losses(const std::string& prototxt, const std::string& file);

}  // namespace forescale
