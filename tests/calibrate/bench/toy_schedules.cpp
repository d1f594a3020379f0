// Makes the toy schedules known to an MPI program of the tests.
#include "tests/algorithms/toy_schedules.hpp"

#include "base/registry.hpp"

namespace forescale::testing {
namespace {

const bool kRegistered = Registry<Schedule>::add(toy_turns()) &&
                         Registry<Schedule>::add(toy_turns_broken()) &&
                         Registry<Schedule>::add(toy_pipeline());

}  // namespace
}  // namespace forescale::testing
