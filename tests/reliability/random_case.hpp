// Cases of the metamorphic campaign: a random question about a random machine, and what is asked
// beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/ask/question.hpp"
#include "tests/reliability/random_machine.hpp"
#include "topologies/platform.hpp"

namespace forescale::testing {

inline constexpr double kRounding = 1e-9;  // relative
inline constexpr double kAnomaly = 0.1;
inline constexpr double kAnomalyOfTraining = 0.15;
// SimGrid takes for one moment what is a picosecond apart (surf/precision): of times that are
// longer it does not, and another message may come first.
inline constexpr double kTies = 0.001;
inline constexpr double kTiesOfShort = 0.02;  // below kShort_s
inline constexpr double kShort_s = 1e-3;
// Of schedules that do what comes first, and of CaffeGPI, whose ranks launch their passes before or
// after a copy that waits for them: a microsecond decides between two modes.
inline constexpr double kAnomalyOfArrivals = 0.5;
// Of a plan whose ranks all go through the others in the same order (all-to-all/linear): a wave
// whose messages share links of the fabric, and share less where a slow node draws it out.
inline constexpr double kAnomalyOfWaves = 0.25;

// How the answer to a changed question stands to that of the question itself.
struct Variant {
  enum Expected { kNotSlower, kNotFaster, kScaled };
  std::string relation;
  Question question;
  Expected expected = kNotSlower;
  double factor = 1;           // kScaled: times that of the question itself
  double allowed = kRounding;  // relative
};

struct Case {
  std::uint64_t number = 0;
  std::string kind;  // what is asked of which machine, one of case_kinds()
  Question question;
  std::vector<Variant> variants;
  std::vector<std::string> refused;  // why what was drawn before it could not be asked
};

// "collective, a generator's", ...: a campaign that never draws one does not do what it says.
const std::vector<std::string>& case_kinds();

// As it is read back from what it is written as.
Question in_other_words(const Question& question);

class CaseMaker {
 public:
  CaseMaker(std::uint64_t seed, std::string folder) : seed_(seed), folder_(std::move(folder)) {}

  // Draws until there is something that can be asked.
  Case make(std::uint64_t number) const;

 private:
  std::string platform(Dice& dice, std::uint64_t number) const;
  // They set kind and question.
  void collective(Dice& dice, Case& made) const;
  void training(Dice& dice, Case& made) const;
  static void vary_machine(Dice& dice, Case& made);
  static void vary_size(Dice& dice, Case& made);
  static void move(Case& made);
  static void add_group(const Platform& platform, Case& made);
  static void disturb(Dice& dice, Case& made);

  std::uint64_t seed_;
  std::string folder_;
};

}  // namespace forescale::testing
