#include "studies/sweep/sweep_merge.hpp"

#include <filesystem>

#include "tests/base/refusal.hpp"
#include "tests/studies/sweep_studies.hpp"

namespace forescale::testing {
namespace {

class SweepMerge : public ::testing::Test {
 protected:
  std::string part(const std::string& name, const std::vector<SweepRow>& rows) {
    SweepDatabase database(folder_.file(name), facts_of(study_, kVersion));
    database.store(rows);
    return database.file();
  }
  std::vector<SweepRow> rows_in(const std::string& file) { return SweepDatabase(file).rows(); }

  const ScratchFolder folder_{"sweep"};
  const Study study_ = numbered_study(folder_, 4);
  const std::string output_ = folder_.file("all.sqlite");
};

TEST_F(SweepMerge, JoinsPartsInTheStudysOrder) {
  const std::string a = part("a.sqlite", {done_row(study_, 3, "3"), done_row(study_, 1, "1")});
  const std::string b = part("b.sqlite", {done_row(study_, 0, "0"), done_row(study_, 1, "1")});
  merge_sweeps(output_, {a, b});
  const std::vector<SweepRow> rows = rows_in(output_);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].answer, "0");
  EXPECT_EQ(rows[1].answer, "1");
  EXPECT_EQ(rows[2].answer, "3");
  EXPECT_EQ(rows[2].host, "here");
  merge_sweeps(output_, {part("c.sqlite", {done_row(study_, 2, "2")})});  // adds to what is there
  EXPECT_EQ(rows_in(output_).size(), 4U);
}

TEST_F(SweepMerge, AnAnswerBeatsAFailure) {
  const std::string a =
      part("a.sqlite", {failed_row(study_, 0, "killed", 137), done_row(study_, 1, "1")});
  const std::string b =
      part("b.sqlite", {done_row(study_, 0, "0"), failed_row(study_, 1, "killed", 137)});
  merge_sweeps(output_, {a, b});
  const std::vector<SweepRow> rows = rows_in(output_);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].answer, "0");
  EXPECT_EQ(rows[0].exit_code, 0);
  EXPECT_EQ(rows[1].answer, "1");
}

TEST_F(SweepMerge, TwoAnswersToOnePointAreRefused) {
  const std::string a = part("a.sqlite", {done_row(study_, 0, "0")});
  const std::string b = part("b.sqlite", {done_row(study_, 1, "1"), done_row(study_, 0, "7")});
  expect_says(refusal([&] {
                merge_sweeps(output_, {a, b});
              }),
              {"b.sqlite", R"({"bytes":0})", "another answer than in " + a});
  EXPECT_FALSE(std::filesystem::exists(output_));
  expect_says(refusal([&] { merge_sweeps(a, {b}); }), {"another answer than in " + b});
  EXPECT_EQ(rows_in(a).size(), 1U);
}

TEST_F(SweepMerge, PartsOfAnotherStudyAreRefused) {
  const std::string a = part("a.sqlite", {done_row(study_, 0, "0")});
  const Study other = numbered_study(folder_, 5);
  { SweepDatabase database(folder_.file("b.sqlite"), facts_of(other, kVersion)); }
  expect_says(refusal([&] {
                merge_sweeps(output_, {a, folder_.file("b.sqlite")});
              }),
              {"b.sqlite", "another question (study: "});
  expect_says(refusal([&] {
                merge_sweeps(output_, {a, folder_.file("none.sqlite")});
              }),
              {"none.sqlite", "No such file"});
  EXPECT_FALSE(std::filesystem::exists(output_));
  expect_says(refusal([&] { merge_sweeps(folder_.file("b.sqlite"), {a}); }),
              {"b.sqlite", "another question (study: "});
}

}  // namespace
}  // namespace forescale::testing
