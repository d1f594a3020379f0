// An ONNX file as a message, without its weights: data of more than 64 KiB are jumped over, as
// shapes are all that counts of them. So a file of a gigabyte is read in milliseconds, and one
// whose weights lie in other files, or were cut out, as well.
#pragma once

#include <istream>
#include <string>

#include "models/workload/onnx/onnx.pb.h"

namespace forescale {

// InputError naming the file where it cannot be read, is cut off or is something else.
onnx::ModelProto read_onnx(const std::string& file);
// The same of a stream that can be sought in; `file` is what errors call it.
onnx::ModelProto read_onnx(std::istream& in, const std::string& file);

}  // namespace forescale
