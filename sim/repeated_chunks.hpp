// Calls whose plans cut the vector into very many chunks that follow each other, simulated with few
// of them.
//
// Once a pipeline is full every further chunk finds what the one before found: the same messages,
// of the same size, over the same links, behind the same ones. So it adds the same time. Whether it
// does is seen at three numbers of chunks, of which the largest is twice the smallest: times lie on
// a line, the smallest call takes several times as long as the pipeline took to fill, and all that
// is added are whole chunks, and as many bytes to messages of levels that are not cut, as a
// binomial tree above chains: these carry the whole vector, and the stack has one rule for all
// their sizes. The last, smaller chunks are those of the call.
#pragma once

#include <optional>
#include <string>

#include "sim/cost_engine.hpp"
#include "sim/resolved_call.hpp"
#include "sim/run/simulate.hpp"

namespace forescale {

// About how many messages a plan in chunks has: up and down a tree.
double chunked_messages(const ResolvedCall& resolved);

// Why it is not tried; empty: it is.
std::string why_chunks_do_not_repeat(const ResolvedCall& resolved);

// What simulate_collective() gives for all chunks, to 1e-9 where no message slows another
// (has_shared); where some do, who comes first may still change among more chunks (0.004 % seen).
// Of a call that can be tried; nothing: few chunks say nothing of all. Simulates in processes of
// its own.
std::optional<CollectiveOutcome> simulate_few_chunks(const ResolvedCall& resolved);

// What evaluate_cost() gives for all chunks, to 1e-9, of a call that it prices; nothing: few say
// nothing of all, or all take a moment.
std::optional<CostResult> cost_of_few_chunks(const ResolvedCall& resolved);

}  // namespace forescale
