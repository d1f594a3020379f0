// What `forescale complete` says may follow, and that the shells' completions ask it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

std::string candidates(const std::string& words) {
  return "\n" + expect_answer("complete -- " + words).out;
}

bool offers(const std::string& words, const std::string& candidate) {
  const std::string all = candidates(words);
  return all.find("\n" + candidate + "\t") != std::string::npos ||
         all.find("\n" + candidate + "\n") != std::string::npos;
}

TEST(Complete, FollowsTheCommandLine) {
  EXPECT_TRUE(offers("", "predict"));
  EXPECT_FALSE(offers("", "complete"));
  EXPECT_TRUE(offers("tune", "collective"));
  EXPECT_FALSE(offers("tune", "predict"));
  EXPECT_TRUE(offers("predict", "--platform"));
  EXPECT_TRUE(offers("predict --platform", "kesch"));
  EXPECT_TRUE(offers("predict --platform kesch", "--gpus"));
  EXPECT_TRUE(offers("collective --op", "all-reduce"));
  EXPECT_TRUE(offers("calibrate measure --mpi", "mpich"));
  EXPECT_TRUE(offers("platform show", "kesch"));
  EXPECT_TRUE(offers("predict --json", "--model"));
  EXPECT_EQ(candidates("predict --gpus"), "\n");  // a number, or a file
}

// `shell`'s output where its completion is loaded from the sources.
std::string completed_by(const std::string& shell, const std::string& script) {
  const Workshop workshop;
  return run_program(workshop.file("script", script), "PATH=$(dirname " FORESCALE_PROGRAM "):$PATH",
                     shell)
      .out;
}

TEST(Complete, BashAsks) {
  const std::string script = "source " + source_file("cli/completion/completion.bash") + R"(
    COMP_WORDS=(forescale predict --platform = dgx-h2); COMP_CWORD=4
    _forescale forescale dgx-h2; echo "${COMPREPLY[@]}"
    COMP_WORDS=(forescale cross); COMP_CWORD=1
    _forescale forescale cross; echo "${COMPREPLY[@]}")";
  EXPECT_EQ(completed_by("bash", script), "dgx-h200\ncrossover\n");
}

TEST(Complete, FishAsks) {
  const std::string script = "source " + source_file("cli/completion/completion.fish") +
                             "\ncomplete -C 'forescale predict --platform dgx-h2'"
                             "\ncomplete -C 'forescale cross'";
  EXPECT_EQ(completed_by("fish --no-config", script).substr(0, 19), "dgx-h200\ncrossover\t");
}

// zsh completes at a terminal only: one of its own, in which somebody types and presses the
// tabulator.
TEST(Complete, ZshAsks) {
  const Workshop workshop;
  workshop.file("functions/_forescale", text_of(source_file("cli/completion/completion.zsh")));
  const std::string script = R"(zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "PS1=; FPATH=)" +
                             workshop.path("functions") +
                             R"(:\$FPATH; autoload -Uz compinit; compinit -u -D"
    zpty -w -n shell $'forescale predict --platform dgx-h2\t'
    zpty -r shell said '*dgx-h200*' && print completed
    zpty -d shell)";
  EXPECT_EQ(completed_by("timeout 30 zsh -f", script), "completed\n");
}

}  // namespace
}  // namespace forescale::testing
