#include "topologies/shortest_path.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/property_map/property_map.hpp>
#include <limits>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr double kTieBreakMax = 1e-3;  // so that hops come first on paths of up to 1000

struct ArcNumber {
  int number = 0;
  double weight = 0;
};
using RouteGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS,
                                         boost::no_property, ArcNumber>;

// Keeps the arcs that leave the source or a vertex that may be on the way.
struct LeavesAllowed {
  const PathProblem* problem = nullptr;
  int source = 0;
  const RouteGraph* graph = nullptr;
  bool operator()(const RouteGraph::edge_descriptor& edge) const {
    const auto tail = boost::source(edge, *graph);
    return static_cast<int>(tail) == source || problem->may_transit[tail] != 0;
  }
};

// Notes the arc through which each vertex was last improved.
class NoteArrival : public boost::default_dijkstra_visitor {
 public:
  explicit NoteArrival(std::vector<int>* arrivals) : arrivals_(arrivals) {}
  template <class Edge, class AnyGraph>
  void edge_relaxed(const Edge& edge, const AnyGraph& graph) const {
    (*arrivals_)[boost::target(edge, graph)] = graph[edge].number;
  }

 private:
  std::vector<int>* arrivals_;
};

}  // namespace

std::vector<Arc> arcs_of(const std::vector<Link>& links, const std::vector<LinkClass>& classes,
                         int first_link) {
  std::vector<Arc> arcs;
  arcs.reserve(2 * links.size());
  for (size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    const LinkClass& link_class = classes[static_cast<size_t>(link.link_class)];
    const Capacity forward = 2 * (first_link + static_cast<int>(i));
    const Capacity backward = forward + (link_class.full_duplex ? 1 : 0);
    arcs.push_back({.tail = link.from,
                    .head = link.to,
                    .capacity = forward,
                    .latency = link_class.latency,
                    .bandwidth = link_class.bandwidth});
    arcs.push_back({.tail = link.to,
                    .head = link.from,
                    .capacity = backward,
                    .latency = link_class.latency,
                    .bandwidth = link_class.bandwidth});
  }
  return arcs;
}

std::vector<int> arrivals_from(const PathProblem& problem, int source) {
  RouteGraph graph(static_cast<size_t>(problem.vertex_count));
  for (size_t i = 0; i < problem.arcs.size(); ++i) {
    const Arc& arc = problem.arcs[i];
    boost::add_edge(
        static_cast<size_t>(arc.tail), static_cast<size_t>(arc.head),
        {.number = static_cast<int>(i), .weight = 1 + std::min(arc.latency.value, kTieBreakMax)},
        graph);
  }
  const LeavesAllowed allowed{.problem = &problem, .source = source, .graph = &graph};
  const boost::filtered_graph<RouteGraph, LeavesAllowed> filtered(graph, allowed);
  std::vector<int> arrivals(static_cast<size_t>(problem.vertex_count), -1);
  boost::dijkstra_shortest_paths(
      filtered, static_cast<size_t>(source),
      boost::weight_map(boost::get(&ArcNumber::weight, filtered)).visitor(NoteArrival(&arrivals)));
  return arrivals;
}

Route walk_back(const PathProblem& problem, const std::vector<int>& arrivals, int target) {
  Route route;
  for (int arc = arrivals[static_cast<size_t>(target)]; arc >= 0;) {
    const Arc& step = problem.arcs[static_cast<size_t>(arc)];
    route.capacities.push_back(step.capacity);
    route.latency += step.latency;
    arc = arrivals[static_cast<size_t>(step.tail)];
  }
  FORESCALE_CHECK(!route.capacities.empty(), "walk_back to an unreachable device");
  std::reverse(route.capacities.begin(), route.capacities.end());
  return route;
}

}  // namespace forescale
