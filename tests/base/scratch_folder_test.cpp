#include "base/scratch_folder.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace forescale::testing {
namespace {

// A process that has a folder, until it is killed.
class Owner {
 public:
  Owner() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const ScratchFolder folder("owner");
      std::ofstream(folder.file("kept")) << "text";
      if (::write(ends[1], folder.path().data(), folder.path().size()) > 0) pause();
      _exit(0);
    }
    close(ends[1]);
    std::array<char, 512> path{};
    EXPECT_GT(::read(ends[0], path.data(), path.size() - 1), 0);
    close(ends[0]);
    path_ = path.data();
  }
  ~Owner() {
    end();
    std::filesystem::remove_all(path_);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  bool is_there() const { return std::filesystem::exists(path_ / "kept"); }

 private:
  pid_t pid_ = -1;
  std::filesystem::path path_;
};

TEST(ScratchFolder, GoesWithItsObject) {
  std::filesystem::path path;
  {
    const ScratchFolder folder("gone");
    path = folder.path();
    std::ofstream(folder.file("text")) << "text";
    EXPECT_TRUE(std::filesystem::exists(path / "text"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ScratchFolder, OfAKilledProcessGoesWhenTheNextIsMadeAndThatOfALivingStays) {
  Owner killed;
  const Owner living;
  killed.end();
  EXPECT_TRUE(killed.is_there());
  const ScratchFolder other("other");
  EXPECT_TRUE(killed.is_there()) << "another purpose";
  const ScratchFolder next("owner");
  EXPECT_FALSE(killed.is_there());
  EXPECT_TRUE(living.is_there());
}

}  // namespace
}  // namespace forescale::testing
