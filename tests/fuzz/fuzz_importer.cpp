// A fuzz target for every importer of traces: fuzz_importer FORMAT [LIBFUZZER'S ARGUMENTS].
//
// A trace becomes a program or is refused by InputError. All else is a finding: another exception,
// a failed check, what a sanitizer sees, a program that is not read back as it was written.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/error.hpp"
#include "base/registry.hpp"
#include "base/scratch_folder.hpp"
#include "base/sqlite.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale {
namespace {

std::string text_of(const Program& program) {
  std::ostringstream out;
  write_program(program, out);
  return out.str();
}

// Programs of very many ranks are as large as was asked for; to write them takes too long here.
constexpr std::size_t kRanksMax = 64;

void check_program(const Program& program) {
  if (program.ranks.size() > kRanksMax) return;
  const std::string text = text_of(program);
  std::istringstream in(text);
  FORESCALE_CHECK(text_of(read_program(in, "what was written")) == text,
                  "a program is read as another one than was written");
}

void check_totals(const ImportTotals& found) {
  const auto is_amount = [](double value) { return std::isfinite(value) && value >= 0; };
  bool are_amounts = is_amount(found.compute_s) && is_amount(found.messages.bytes);
  for (const auto& [name, volume] : found.collectives)
    are_amounts = are_amounts && is_amount(volume.bytes);
  FORESCALE_CHECK(are_amounts, "a total is below 0 or no number");
}

// A database is given by its statements, one a line: of its own bytes hardly any may change.
void write_database(const std::string& path, const std::string& statements) {
  Sqlite database(path, Sqlite::Access::kWrite);
  database.execute("PRAGMA synchronous = OFF");
  std::istringstream lines(statements);
  for (std::string line; std::getline(lines, line);) {
    try {
      database.execute(line);
    } catch (const InputError&) {  // a statement that was changed
    }
  }
}

void write_file(const std::string& path, const std::string& text) {
  if (text.starts_with("CREATE TABLE"))
    write_database(path, text);
  else
    std::ofstream(path, std::ios::binary) << text;
}

class Target {
 public:
  explicit Target(const TraceFormat& format) : format_(format) {}

  void run(std::string_view input) {
    const std::vector<std::string> files = write(input);
    detect(files.front());
    for (const ImportOptions& options : std::vector<ImportOptions>{
             {},
             {.ranks = 4, .flops_per_s = 1e9, .cycle_s = 1e-9, .images = 32},
             {.flops_per_s = 1e9,
             .bucket_bytes = 1 << 20,
             .sizes = {{"all-to-all", 4096}, {"all-reduce", 64}, {"dispatch", std::nullopt}},
             .without_stragglers = true}}) {
      import(files, options);
      if (files.size() > 1) import({files.front()}, options);
    }
  }

 private:
  // Under the same names each time, so that a finding is one again when its input is run alone.
  std::vector<std::string> write(std::string_view input) const {
    std::vector<std::string> paths;
    const std::vector<std::string> texts = files_of(input);
    for (std::size_t i = 0; i < kFilesMax; ++i) {
      const std::string path = folder_.file(std::to_string(i));
      std::filesystem::remove(path);
      if (i >= texts.size()) continue;
      write_file(path, texts[i]);
      paths.push_back(path);
    }
    return paths;
  }

  static void detect(const std::string& file) {
    try {
      trace_format_of(file);
    } catch (const InputError&) {
    }
  }

  void import(const std::vector<std::string>& files, const ImportOptions& options) const {
    ImportedTrace imported;
    try {
      imported = format_.import(files, options);
    } catch (const InputError&) {
      return;
    }
    check_program(imported.program);
    check_totals(imported.found);
  }

  const TraceFormat& format_;
  ScratchFolder folder_{"fuzz"};
};

// libFuzzer's functions share nothing else.
std::unique_ptr<Target>& target() {
  static std::unique_ptr<Target> only;
  return only;
}

[[noreturn]] void list_formats() {
  for (const std::string& name : Registry<TraceFormat>::names()) std::puts(name.c_str());
  std::exit(0);
}

}  // namespace
}  // namespace forescale

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc < 2) forescale::list_formats();
  try {
    forescale::target() = std::make_unique<forescale::Target>(
        forescale::Registry<forescale::TraceFormat>::find((*argv)[1], (*argv)[0]));
  } catch (const forescale::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(2);
  }
  forescale::leave_to_libfuzzer(*argc, *argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forescale::target()->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
