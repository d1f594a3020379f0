// SMPI traces made in tests, and what becomes of them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/registry.hpp"
#include "base/scratch_folder.hpp"
#include "tests/base/refusal.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale::testing {

inline const ImportOptions kGigaflop{.flops_per_s = 1e9};

// In a folder of this process: ctest runs tests side by side.
inline std::string in_file(const std::string& name, const std::string& text) {
  static const ScratchFolder folder("smpi");
  std::ofstream(folder.file(name), std::ios::binary) << text;
  return folder.file(name);
}

inline const TraceFormat& smpi() { return Registry<TraceFormat>::find("smpi", "test"); }

inline ImportedTrace import_smpi(const std::string& text,
                                 const ImportOptions& options = kGigaflop) {
  return smpi().import({in_file("trace.txt", text)}, options);
}

inline std::string smpi_refusal(const std::string& text, const ImportOptions& options = kGigaflop) {
  return refusal([&] { import_smpi(text, options); });
}

// `lines` are what the ranks do between init and finalize.
inline std::string ranks(int count, const std::string& lines, const std::string& init = "init") {
  std::string text;
  for (int rank = 0; rank < count; ++rank) text += fmt::format("{} {}\n", rank, init);
  text += lines;
  for (int rank = 0; rank < count; ++rank) text += fmt::format("{} finalize\n", rank);
  return text;
}

// The same line for all ranks.
inline std::string all(int count, const std::string& call) {
  std::string text;
  for (int rank = 0; rank < count; ++rank) text += fmt::format("{} {}\n", rank, call);
  return text;
}

}  // namespace forescale::testing
