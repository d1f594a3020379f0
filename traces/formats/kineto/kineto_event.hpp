// One event of a Chrome trace as PyTorch's profilers write it.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/formats/json_scan.hpp"
#include "traces/measured/measured.hpp"

namespace forescale {

struct KinetoEvent {
  std::string_view name;
  std::string_view category;  // empty in the form of old profilers
  ClockSpan span;
  std::string thread;
  simdjson::dom::element args;  // an object, or null

  std::optional<std::int64_t> integer(std::string_view key) const;
  std::string_view text(std::string_view key) const;  // empty where there is none
};

// The complete event ("ph": "X") that `scan` is at; nothing for events of other kinds. InputError
// for what is no event. Views live until the next call with that parser.
std::optional<KinetoEvent> kineto_event(const JsonScan& scan, simdjson::dom::parser& parser);

// The value that `scan` is at.
simdjson::dom::element parse_value(const JsonScan& scan, simdjson::dom::parser& parser);

// "allreduce", "_allgather_base", "ncclKernel_AllReduce_RING_LL_Sum_float(...)"; nothing for what
// is no collective that forescale has.
std::optional<CollectiveOp> collective_of(std::string_view name);

// Bytes of an element: "Float", "signed char", "c10::BFloat16"; nothing where unknown.
std::optional<std::int64_t> bytes_of_type(std::string_view dtype);

// "[0, 1, 2]"; nothing where it is cut short.
std::optional<std::vector<int>> ranks_in(std::string_view list);

}  // namespace forescale
