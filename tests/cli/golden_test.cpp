// Golden outputs: what the program prints for fixed questions, byte for byte. A difference is
// either a bug or a change that must be meant: FORESCALE_UPDATE_GOLDEN=1 writes the files anew, to
// be read in the diff.
#include <gtest/gtest.h>

#include "tests/cli/run_program.hpp"

namespace forescale {
namespace {

struct Golden {
  const char* file;
  const char* arguments;
};

class GoldenOutput : public ::testing::TestWithParam<Golden> {};

TEST_P(GoldenOutput, IsTheSame) {
  const auto& [file, arguments] = GetParam();
  const std::string path = testing::source_file(std::string("tests/cli/golden/") + file);
  const testing::Outcome result = testing::run_program(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  if (std::getenv("FORESCALE_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << result.out;
  }
  EXPECT_EQ(result.out, testing::text_of(path)) << arguments;
}

INSTANTIATE_TEST_SUITE_P(
    Questions, GoldenOutput,
    ::testing::Values(
        Golden{"collective_ideal.txt",
               "collective --platform star:hosts=16,bandwidth=12.5GB/s,latency=1us --op reduce "
               "--algorithm chain --ranks 2..16 --bytes 16MiB --chunk-bytes 1MiB"},
        Golden{"collective_kesch.txt",
               "collective --platform kesch --stack mvapich2-gdr --op reduce --ranks 8,16,160 "
               "--bytes 1MiB,64MiB"},
        Golden{"predict_caffenet.txt",
               "predict --platform kesch --gpus 1..32 --model caffenet --batch 512 --system "
               "s-caffe-obr-hr"},
        Golden{"predict_weak.csv",
               "predict --platform cluster-b --gpus 1..8 --model alexnet --batch 64 --scaling weak "
               "--system s-caffe-b-hr --no-range --csv"}),
    [](const auto& test) {
      std::string name = test.param.file;
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name;
    });

}  // namespace
}  // namespace forescale
