// Simulations in processes of their own: SimGrid allows one engine a process, and a crash of one
// must not take the others along.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace forescale {

// Runs every task in a forked child, `parallel` at a time, and returns their texts in order.
// `on_done(finished)` is called after each. An InputError, SimulationStuck or CheckFailed of a task
// is thrown here again, that of the first task by order; a child that dies is a SimulationStuck.
std::vector<std::string> run_isolated(const std::vector<std::function<std::string()>>& tasks,
                                      int parallel,
                                      const std::function<void(size_t finished)>& on_done);

// The same, but a task that throws or dies leaves its reason instead of stopping the others.
struct IsolatedAnswer {
  std::string text;
  std::string failure;  // empty: it succeeded
};
std::vector<IsolatedAnswer> run_isolated_each(
    const std::vector<std::function<std::string()>>& tasks, int parallel,
    const std::function<void(size_t finished)>& on_done);

// The machine's cores, at least 1.
int available_cores();

}  // namespace forescale
