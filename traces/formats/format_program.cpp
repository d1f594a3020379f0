// forescale's own programs (docs/program.md), plain or compressed.
#include "base/error.hpp"
#include "base/registry.hpp"
#include "traces/formats/trace_format.hpp"
#include "traces/formats/trace_input.hpp"

namespace forescale {
namespace {

bool is_program(const std::string& /*file*/, const std::string& head) {
  return head.find("forescale-program-") < 200;
}

void count(const Program& program, ImportTotals& found) {
  for (const ProgramRank& rank : program.ranks)
    for (const ProgramThread& thread : rank.threads)
      for (const Action& action : thread.actions) {
        if (const auto* kernel = std::get_if<Kernel>(&action.what)) {
          ++found.kernels;
          found.compute_s += kernel->duration_s;
        } else if (const auto* step = std::get_if<CollectiveStep>(&action.what)) {
          Volume& volume = found.collectives[name_of(step->op)];
          ++volume.count;
          volume.bytes += static_cast<double>(step->bytes);
        } else if (const auto* message = std::get_if<MessageStep>(&action.what);
                   message != nullptr && action.kind != Action::Kind::kReceive) {
          ++found.messages.count;
          found.messages.bytes += static_cast<double>(message->bytes);
        }
      }
}

ImportedTrace import_program(const std::vector<std::string>& files, const ImportOptions& options) {
  if (files.size() > 1)
    throw InputError({.source = files[1],
                      .path = "",
                      .value = "",
                      .constraint = "must not be there: " + files[0] + " is a whole program"});
  TraceInput input(files.front());
  ImportedTrace imported;
  imported.program = read_program(input.stream(), files.front());
  if (options.ranks > 0 && options.ranks != static_cast<int>(imported.program.ranks.size()))
    throw InputError(
        {.source = "--ranks",
         .path = "",
         .value = std::to_string(options.ranks),
         .constraint = "must be the program's own; predict it anew for another number"});
  count(imported.program, imported.found);
  if (!imported.program.schedule.empty())
    imported.notes.push_back("holds what each rank trains under " + imported.program.schedule +
                             ", which follows what comes first: its calls are made anew in replay");
  return imported;
}

const bool kProgramRegistered =
    Registry<TraceFormat>::add({.name = "program",
                                .description = "what forescale predict --record wrote",
                                .reads = {"--ranks"},
                                .detects = is_program,
                                .import = import_program});

}  // namespace
}  // namespace forescale
