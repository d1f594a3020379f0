// Caffe's prototxt in both forms against the zoo, and files that are cut, misspelt or do not fit.
#include "models/workload/caffe/import_caffe.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

const std::string kFolder = std::string(FORESCALE_SOURCE_DIR) + "/tests/models/data/";

std::string read(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void expect_same_layers(const Network& imported, const Network& zoo) {
  EXPECT_EQ(imported.parameters(), zoo.parameters());
  EXPECT_EQ(imported.forward_flops(), zoo.forward_flops());
  EXPECT_EQ(imported.backward_flops(), zoo.backward_flops());
  EXPECT_EQ(imported.activation_per_image(), zoo.activation_per_image());
  ASSERT_EQ(imported.layers.size(), zoo.layers.size());
  for (std::size_t i = 0; i < zoo.layers.size(); ++i) {
    EXPECT_EQ(imported.layers[i].type, zoo.layers[i].type);
    EXPECT_EQ(imported.layers[i].output_shape, zoo.layers[i].output_shape);
    EXPECT_EQ(imported.layers[i].parameters, zoo.layers[i].parameters);
  }
}

std::string caffe_refusal(const std::string& text) {
  return refusal([&] { import_caffe_text(text, "net.prototxt"); });
}

const std::string kHead =
    R"(name: "t"
layer { name: "d" type: "Data" top: "data" top: "label" transform_param { crop_size: 8 } }
)";
const std::string kTail =
    R"(layer { name: "l" type: "SoftmaxWithLoss" bottom: "y" bottom: "label" top: "l" }
)";

TEST(ImportCaffe, AlexNetMatchesTheZoo) {
  const Network imported = load_network(kFolder + "alexnet_layer.prototxt", "--model");
  EXPECT_EQ(imported.name, "AlexNet");
  expect_same_layers(imported, load_network("alexnet", "--model"));
}

TEST(ImportCaffe, ThePublicAlexNetMatchesTheZoo) {
  expect_same_layers(import_caffe(kFolder + "alexnet_train_val.prototxt"),
                     load_network("alexnet", "--model"));
}

TEST(ImportCaffe, OldLayersFormMatchesTheZoo) {
  const std::string file = kFolder + "cifar10_quick_layers.prototxt";
  expect_same_layers(import_caffe(file, Shape{3, 32, 32}),
                     load_network("cifar10-quick", "--model"));
  try {
    import_caffe(file);
    FAIL() << "the file does not say its input's shape";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("give it as an option"), std::string::npos);
  }
}

TEST(ImportCaffe, RoundTripsThroughJson) {
  const Network imported = import_caffe(kFolder + "alexnet_layer.prototxt");
  const Network again = read_network(JsonInput::from_text(to_json(imported).dump(), "copy.json"));
  expect_same_layers(again, imported);
}

// Wherever the file is cut, the answer is an InputError or the whole network.
TEST(ImportCaffe, ATruncatedFileIsNeverAPartialNetwork) {
  const std::string whole = read(kFolder + "alexnet_layer.prototxt");
  const std::int64_t parameters = load_network("alexnet", "--model").parameters();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    try {
      const Network network = import_caffe_text(whole.substr(0, length), "cut.prototxt");
      EXPECT_EQ(network.parameters(), parameters) << "cut at byte " << length;
    } catch (const InputError&) {
    }
  }
}

TEST(ImportCaffe, ErrorsNameLineAndColumn) {
  EXPECT_NE(caffe_refusal(kHead + "# \xba\n").find("must be UTF-8"), std::string::npos);
  const std::string text = caffe_refusal(kHead + "layer { name: \"y\" type: }\n");
  EXPECT_NE(text.find("net.prototxt:3:25"), std::string::npos) << text;
}

TEST(ImportCaffe, AMisspeltHyperParameterIsAnError) {
  const std::string text =
      caffe_refusal(kHead +
                    "layer { name: \"y\" type: \"Convolution\" bottom: \"data\" top: \"y\" "
                    "convolution_param { num_output: 2 kernel_size: 3 strid: 2 } }\n" +
                    kTail);
  EXPECT_NE(text.find("strid"), std::string::npos) << text;
  EXPECT_NE(text.find("net.prototxt:3:"), std::string::npos) << text;
}

TEST(ImportCaffe, UnknownFieldsElsewhereAreSkipped) {
  const Network network =
      import_caffe_text(kHead +
                            "layer { name: \"y\" type: \"ReLU\" bottom: \"data\" top: \"y\" "
                            "relu_param { negative_slope: 0.1 } future_param { x { y: 1 } } }\n" +
                            kTail,
                        "net.prototxt");
  EXPECT_EQ(network.layers.size(), 3U);
}

TEST(ImportCaffe, InputShapeFromEveryPlaceThatSaysIt) {
  const std::string rest = "layer { name: \"y\" type: \"Softmax\" bottom: \"data\" top: \"y\" }\n";
  const auto shape = [&](const std::string& head) {
    return import_caffe_text(head + rest, "net.prototxt").input_shape;
  };
  EXPECT_EQ(shape("input: \"data\" input_dim: 10 input_dim: 3 input_dim: 5 input_dim: 7\n"),
            (Shape{3, 5, 7}));
  EXPECT_EQ(shape("input: \"data\" input_shape { dim: 10 dim: 3 dim: 5 dim: 7 }\n"),
            (Shape{3, 5, 7}));
  EXPECT_EQ(shape("layer { name: \"i\" type: \"Input\" top: \"data\" "
                  "input_param { shape { dim: 1 dim: 1 dim: 5 dim: 7 } } }\n"),
            (Shape{1, 5, 7}));
}

TEST(ImportCaffe, RefusesWhatItCannotUnderstand) {
  const std::string y = "layer { name: \"y\" bottom: \"data\" top: \"y\" type: ";
  EXPECT_NE(caffe_refusal("").find("at least one layer"), std::string::npos);
  EXPECT_NE(caffe_refusal(kHead + y + "\"Poling\" }" + kTail).find("did you mean \"Pooling\""),
            std::string::npos);
  EXPECT_NE(caffe_refusal(kHead + y + "\"InnerProduct\" }" + kTail)
                .find("/layer/1/num_output: is required"),
            std::string::npos);
  EXPECT_NE(
      caffe_refusal(kHead + y + "\"Pooling\" pooling_param { kernel_size: 2 stride: 0 } }" + kTail)
          .find("must be > 0"),
      std::string::npos);
  EXPECT_NE(caffe_refusal(kHead + y +
                          "\"InnerProduct\" inner_product_param { num_output: 2 } "
                          "param { name: \"w\" } param { name: \"w\" } }" +
                          kTail)
                .find("shared"),
            std::string::npos);
  EXPECT_NE(caffe_refusal("layers { layer { name: \"v0\" type: \"conv\" } }").find("net.prototxt"),
            std::string::npos);
  std::string deep = "layer { ";
  for (int i = 0; i < 100'000; ++i) deep += "x { ";
  EXPECT_NE(caffe_refusal(deep), "accepted");
  EXPECT_THROW(import_caffe("/no/such/file.prototxt"), InputError);
  EXPECT_THROW(import_caffe("/tmp"), InputError);
}

}  // namespace
}  // namespace forescale
