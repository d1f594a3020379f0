// Files are whole or not at all, whatever ends the program that writes them.
#include "base/output_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.hpp"

namespace forescale {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OutputFile : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("output_file_") + test.name());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    std::ofstream(file()) << "old";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file() const { return folder_ / "answer.json"; }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(file()).rdbuf();
    return text.str();
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
      names.insert(entry.path().filename());
    return names;
  }

  // Whether the file system has files without a name; else what a killed program has begun stays.
  bool has_unnamed_files() const {
    const int file = open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600);
    if (file >= 0) close(file);
    return file >= 0;
  }

  fs::path folder_;
};

TEST_F(OutputFile, StaysAsItWasUntilTheNewOneIsWhole) {
  write_file(
      file(),
      [&](std::ostream& out) {
        out << "new" << std::flush;
        EXPECT_EQ(content(), "old");
      },
      "--out");
  EXPECT_EQ(content(), "new");
  EXPECT_THAT(names(), ElementsAre("answer.json"));
}

// The second process has no time to clear up.
TEST_F(OutputFile, IsAllThatAKilledProgramLeaves) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    const pid_t child = fork();
    if (child == 0) {
      write_file(
          file(),
          [&](std::ostream& out) {
            out << "half" << std::flush;
            std::signal(signal, SIG_DFL);
            raise(signal);
          },
          "--out");
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_EQ(content(), "old");
    if (has_unnamed_files()) {
      EXPECT_THAT(names(), ElementsAre("answer.json"));
    }
  }
}

TEST_F(OutputFile, StaysALinkAndHasTheUsualRights) {
  fs::create_symlink("answer.json", folder_ / "link");
  const mode_t mask = umask(027);
  write_file(folder_ / "link", "new", "--out");
  umask(mask);
  EXPECT_EQ(content(), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(fs::status(file()).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(OutputFile, IsWrittenWhereTheProgramIs) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  write_file("here.json", "new", "--out");
  fs::current_path(before);
  EXPECT_THAT(names(), ElementsAre("answer.json", "here.json"));
}

// A text that fills the buffer more than once, and ends within it.
TEST_F(OutputFile, IsCompressedWhereItsNameSaysSo) {
  std::string text;
  for (int line = 0; line < 20000; ++line) text += "line " + std::to_string(line) + "\n";
  const std::string packed = folder_ / "answer.gz";
  write_file(packed, text, "--out");
  EXPECT_LT(fs::file_size(packed), text.size() / 3);
  std::string read(text.size() + 1, '\0');
  const gzFile stream = gzopen(packed.c_str(), "rb");
  read.resize(static_cast<size_t>(gzread(stream, read.data(), static_cast<unsigned>(read.size()))));
  EXPECT_EQ(gzclose(stream), Z_OK);
  EXPECT_EQ(read, text);
}

TEST_F(OutputFile, SaysWhyItCannotBeWritten) {
  const auto reason = [&](const std::string& name) -> std::string {
    try {
      write_file(name, "new", "--out");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(reason("/dev/full"),
              HasSubstr("--out = /dev/full: cannot be written: No space left"));
  fs::create_symlink("/dev/full", folder_ / "full.gz");
  EXPECT_THAT(reason(folder_ / "full.gz"), HasSubstr("full.gz: cannot be written: No space left"));
  fs::remove(folder_ / "full.gz");
  EXPECT_THAT(reason(folder_ / "none" / "answer.gz"), HasSubstr("No such file or directory"));
  EXPECT_THAT(reason(folder_ / "none" / "answer.json"), HasSubstr("No such file or directory"));
  EXPECT_THAT(reason(file() + "/answer.json"), HasSubstr("Not a directory"));
  EXPECT_THAT(names(), ElementsAre("answer.json"));
}

}  // namespace
}  // namespace forescale
