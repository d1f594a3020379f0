// A subcommand that registers itself here: it is in --help, runs, and no other file knows of it.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/cli/in_process.hpp"

namespace forescale {
namespace {

using testing::answer_here;

const bool kToyCommandRegistered = Registry<Command>::add(
    {.name = "toy", .add = [](Subcommand app) {
       app.add_subcommand("toy", "Says that it ran").callback([] { std::puts("it ran"); });
     }});

TEST(ToyCommand, IsInTheHelpAndRuns) {
  EXPECT_TRUE(kToyCommandRegistered);
  answer_here("--help", {"toy", "Says that it ran"});
  answer_here("toy", {"it ran\n"});
}

}  // namespace
}  // namespace forescale
