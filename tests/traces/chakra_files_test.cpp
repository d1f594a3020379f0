// Chakra traces that are wrong, their encodings, and the public samples, counted in another way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>

#include "tests/traces/chakra_making.hpp"

namespace forescale::chakra_test {
namespace {

using ::testing::HasSubstr;

TEST(Chakra, WrongGraphsAreRefused) {
  EXPECT_THAT(error_of_trace(trace(
                  {kernel(1, 1, {3}), kernel(2, 1, {1}), kernel(3, 1, {2}), kernel(4, 1, {3})})),
              HasSubstr("is a cycle of 3 nodes"));
  EXPECT_THAT(error_of_trace(trace({kernel(8, 1, {8})})), HasSubstr("is a cycle of 1 nodes"));
  const std::string absent = error_of_trace(trace({kernel(1, 1), kernel(2, 1, {77})}));
  EXPECT_THAT(absent, HasSubstr("node 2"));
  EXPECT_THAT(absent, HasSubstr("a dependency on node 77"));
  EXPECT_THAT(error_of_trace(trace({kernel(6, 1), kernel(6, 1)})), HasSubstr("is there twice"));
}

TEST(Chakra, WrongNodesAreRefusedWithTheirPosition) {
  const std::string good = trace({kernel(1, 1)});
  const auto error_of_node = [&](const NodeText& node) {
    std::string error = error_of_trace(trace({kernel(1, 1), node}), {.ranks = 2});
    EXPECT_THAT(error, HasSubstr("byte " + std::to_string(good.size())));
    return error;
  };
  EXPECT_THAT(error_of_node({.id = 2, .type = 42}), HasSubstr("has type 42"));
  EXPECT_THAT(error_of_node({.id = 2, .name = "\xff\xfe"}), HasSubstr("not UTF-8"));
  EXPECT_THAT(error_of_node(kernel(2, ~std::uint64_t{0})), HasSubstr("must be at most"));
  EXPECT_THAT(error_of_node(collective(2, kAllReduce, -1)), HasSubstr("has -1 bytes"));
  EXPECT_THAT(error_of_node(collective(2, 99, 8)), HasSubstr("has comm_type 99"));
}

TEST(Chakra, DamagedFilesAreRefusedWithTheirPosition) {
  const std::string good = trace({kernel(1, 1), kernel(2, 1, {1})});
  for (std::size_t length = 1; length < good.size(); ++length) {
    const std::string file = write("cut.et", good.substr(0, length));
    const std::string error = error_of({file});
    if (error != "no error") {
      EXPECT_THAT(error, HasSubstr("byte "));
    }
  }
  EXPECT_THAT(error_of_trace(good.substr(0, good.size() - 1)),
              HasSubstr("is longer than the rest of the file"));
  EXPECT_THAT(error_of_trace(good + "\xff\xff\xff\xff\xff\xff"),
              HasSubstr("byte " + std::to_string(good.size()) + " = a message: must have at most"));
  EXPECT_THAT(error_of_trace(good + std::string("\x80", 1)), HasSubstr("ends within a length"));
  EXPECT_THAT(error_of_trace(good + std::string("\x02\x0f\x0f", 3)),
              HasSubstr("is no Chakra Node"));
  EXPECT_THAT(error_of_trace(""), HasSubstr("is empty"));
}

TEST(Chakra, CompressedFiles) {
  const std::string file = path_of("packed.et.gz");
  const std::string text = trace({kernel(1, 7)});
  gzFile out = gzopen(file.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  EXPECT_DOUBLE_EQ(import_files({file}).found.compute_s, 7e-6);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 9);
  EXPECT_THAT(error_of({file}), HasSubstr("is damaged"));
}

TEST(Chakra, IsToldFromOtherFiles) {
  const auto is_chakra = [](const std::string& head) {
    return Registry<TraceFormat>::find("chakra", "").detects("file", head);
  };
  EXPECT_TRUE(is_chakra(trace({})));
  EXPECT_TRUE(is_chakra(trace({kernel(0, 1)})));
  EXPECT_TRUE(is_chakra(trace({kernel(1, 1)}).substr(0, 12)));
  EXPECT_TRUE(is_chakra(std::string("\0\x04\x08\x01\x18\x04", 6)));  // metadata of nothing
  EXPECT_TRUE(is_chakra(R"( {"workload_graph": [)"));
  for (const std::string& other :
       {std::string(), std::string("{\n  \"schema\": \"1.0.2-chakra.0.0.4\", \"pid\": 788625,"),
        std::string("[\n{\"ph\": \"X\"}]"), std::string("SQLite format 3\0\x10\0\1\1", 20),
        std::string("0 init\n0 compute 1e9\n"), std::string("num_ranks 2\n\nrank 0 {\n"),
        std::string("\n\x01\x02\x03", 4), std::string(64, '\0'), std::string("\x1f\x8b\x08", 3)})
    EXPECT_FALSE(is_chakra(other)) << other;
}

TEST(Chakra, Json) {
  const std::string text = R"({"workload_graph": [
    {"Id": 1, "Name": "a", "NodeType": 4, "runtime": 12, "data_deps": [], "is_cpu_op": true},
    {"Id": 2, "Name": "b", "NodeType": 7, "data_deps": [1], "is_cpu_op": false,
     "comm_type": 0, "comm_size": 64}], "ngpus": 3})";
  const ImportedTrace imported = import({text});
  EXPECT_EQ(imported.program.ranks.size(), 3u);
  EXPECT_EQ(imported.found.collectives.at("all-reduce").bytes, 64.0);
  EXPECT_DOUBLE_EQ(Clock(imported.program.ranks[2]).end_s("b"), 12e-6);
  EXPECT_THAT(error_of_trace(R"({"workload_graph": [{"Id": 1, "NodeType": -4}]})"),
              HasSubstr("byte 20"));
  EXPECT_THAT(error_of_trace(R"({"workload_graph": [{"Id": 1, "NodeType": 4)"), HasSubstr("byte"));
}

TEST(Chakra, LongChainsAreNoDeeperThanShortOnes) {
  std::string text = trace({});
  constexpr std::uint64_t kLength = 300'000;
  for (std::uint64_t id = 0; id < kLength; ++id)
    delimited(message(id == 0 ? kernel(id, 1) : kernel(id, 1, {id - 1})), text);
  const std::string file = write("deep.et", text);
  const ImportedTrace imported = trace_format_of(file).import({file}, {});
  const ProgramRank& rank = imported.program.ranks.at(0);
  EXPECT_EQ(rank.threads.size(), 2u);  // one chain
  EXPECT_NEAR(Clock(rank).end_s("n299999"), kLength * 1e-6, 1e-9);
}

// Fields of a message, without the library.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string text;
};

std::vector<Field> fields_of(const std::string& text) {
  std::vector<Field> fields;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(text.at(at++));
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < text.size()) {
    Field field;
    const std::uint64_t tag = varint();
    field.number = tag >> 3;
    field.value = varint();
    if ((tag & 7) == 2) {
      field.text = text.substr(at, field.value);
      at += field.value;
    }
    fields.push_back(field);
  }
  return fields;
}

std::vector<std::string> messages_of(const std::string& text) {
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t length = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(text.at(at++));
      length |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    messages.push_back(text.substr(at, length));
    at += length;
  }
  return messages;
}

std::string unpacked(const std::string& archive, const std::string& member) {
  const std::string samples = std::string(FORESCALE_SOURCE_DIR) + "/tests/traces/data/chakra/";
  const std::string folder = path_of("samples");
  std::filesystem::create_directories(folder);
  const std::string command =
      "tar xzf '" + samples + archive + "' -C '" + folder + "' --no-same-owner";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return folder + "/" + member;
}

TEST(ChakraSamples, CollectivesAndTasksAsADirectCountGivesThem) {
  const std::string file = unpacked("feeder_tests_trace.tar.gz", "tests/data/chakra.0.et");
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  const std::vector<std::string> messages = messages_of(text.str());
  std::map<std::uint64_t, Volume> collectives;  // by comm_type
  std::uint64_t kernels = 0, host_calls = 0, kernel_us = 0;
  for (std::size_t i = 1; i < messages.size(); ++i) {
    std::uint64_t type = 0, duration_us = 0;
    std::map<std::string, std::uint64_t> numbers;
    for (const Field& field : fields_of(messages[i])) {
      if (field.number == 3) type = field.value;
      if (field.number == 7) duration_us = field.value;
      if (field.number != 10) continue;
      const std::vector<Field> attribute = fields_of(field.text);
      numbers[attribute.at(0).text] = attribute.at(1).value;
    }
    if (type == 4 && numbers.at("is_cpu_op") == 0) ++kernels, kernel_us += duration_us;
    if (type != 7) continue;
    if (numbers.count("comm_size") == 0) {
      ++host_calls;
      continue;
    }
    ++collectives[numbers.at("comm_type")].count;
    collectives[numbers.at("comm_type")].bytes += static_cast<double>(numbers.at("comm_size"));
  }
  const ImportedTrace imported = import_files({file}, {.ranks = 2});
  ASSERT_EQ(collectives.size(), 2u);  // all-reduce and broadcast
  for (const auto& [type, op] : {std::pair(0, "all-reduce"), std::pair(5, "broadcast")}) {
    EXPECT_EQ(imported.found.collectives.at(op).count, collectives.at(type).count);
    EXPECT_EQ(imported.found.collectives.at(op).bytes, collectives.at(type).bytes);
  }
  EXPECT_EQ(imported.found.kernels, kernels);
  EXPECT_NEAR(imported.found.compute_s, static_cast<double>(kernel_us) * 1e-6, 1e-9);
  EXPECT_THAT(joined(imported.notes),
              HasSubstr(std::to_string(host_calls) + " communication nodes of the CPU"));
  EXPECT_TRUE(Clock(imported.program.ranks.at(1)).is_finished());
}

TEST(ChakraSamples, Json) {
  const std::string file = unpacked("json_trace.tar.gz", "jsonData/chakra.0.json");
  std::ostringstream buffer;
  buffer << std::ifstream(file).rdbuf();
  const std::string text = buffer.str();
  const auto count = [&](const std::string& word) {
    std::size_t found = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++found;
    return found;
  };
  ASSERT_EQ(count("comm_size"), 0u);
  const ImportedTrace imported = import_files({file});
  EXPECT_TRUE(imported.found.collectives.empty());
  // The program has a task for every node but the collectives of the GPU, which have no size.
  const std::size_t tasks = count("\"Id\":") - 7;
  std::size_t found = 0;
  for (const ProgramThread& thread : imported.program.ranks.at(0).threads)
    for (const Action& action : thread.actions)
      found += std::holds_alternative<Kernel>(action.what) ||
                       std::holds_alternative<HostWork>(action.what)
                   ? 1
                   : 0;
  EXPECT_EQ(found, tasks);
  EXPECT_THAT(joined(imported.notes), HasSubstr("7 communication nodes of the GPU"));
}

TEST(ChakraSamples, PyTorchsOwnTracesAreNotTaken) {
  const std::string file = unpacked("1.0.2-chakra.0.0.4.tgz", "1.0.2-chakra.0.0.4.json");
  std::string head(4096, '\0');
  std::ifstream(file).read(head.data(), 4096);
  EXPECT_FALSE(Registry<TraceFormat>::find("chakra", "").detects(file, head));
}

}  // namespace
}  // namespace forescale::chakra_test
