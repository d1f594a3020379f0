#include "topologies/flow_network.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace forescale {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct Edge {
  Flow capacity = 0;
  Flow residual = 0;
  Traits::edge_descriptor reverse;
};
using FlowGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;

}  // namespace

int FlowNetwork::vertex(int device) {
  const auto [entry, fresh] = vertices_.emplace(device, vertex_count_);
  if (fresh) ++vertex_count_;
  return entry->second;
}

void FlowNetwork::add_both_ways(int vertex_a, int vertex_b, Flow capacity) {
  if (vertex_a == vertex_b) return;
  capacities_[{vertex_a, vertex_b}] += capacity;
  capacities_[{vertex_b, vertex_a}] += capacity;
}

Flow FlowNetwork::max_flow() const {
  FlowGraph graph(static_cast<size_t>(vertex_count_));
  // Push-relabel wants a reverse edge of capacity 0 for every edge, even where both ways exist.
  for (const auto& [ends, capacity] : capacities_) {
    const auto from = static_cast<size_t>(ends.first);
    const auto to = static_cast<size_t>(ends.second);
    const auto forward =
        boost::add_edge(from, to, {.capacity = capacity, .residual = 0, .reverse = {}}, graph)
            .first;
    const auto backward =
        boost::add_edge(to, from, {.capacity = 0, .residual = 0, .reverse = {}}, graph).first;
    graph[forward].reverse = backward;
    graph[backward].reverse = forward;
  }
  return boost::push_relabel_max_flow(
      graph, static_cast<size_t>(kSource), static_cast<size_t>(kSink),
      boost::capacity_map(boost::get(&Edge::capacity, graph))
          .residual_capacity_map(boost::get(&Edge::residual, graph))
          .reverse_edge_map(boost::get(&Edge::reverse, graph))
          .vertex_index_map(boost::get(boost::vertex_index, graph)));
}

}  // namespace forescale
