// Traces for tests: written to a folder of their own, plain or compressed.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/scratch_folder.hpp"

namespace forescale::testing {

class TraceFolder {
 public:
  std::string path(const std::string& name) const { return folder_.file(name); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string write_compressed(const std::string& name, const std::string& text) const {
    gzFile file = gzopen(path(name).c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path(name);
  }

 private:
  ScratchFolder folder_{"trace"};
};

}  // namespace forescale::testing
