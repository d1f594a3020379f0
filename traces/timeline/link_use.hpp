// How busy each link was when: written by the simulator, read by trace writers.
//
// A flow's bytes are spread evenly over its time, as far as shorter flows leave room on the link:
// none is used for more than it carries. Within the time of a flow whose rate changed the curve is
// not exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

class LinkUse {
 public:
  // Share of a link's bandwidth that was used in each of a number of equal intervals.
  struct Curve {
    std::string link;
    double mean = 0;
    std::vector<double> shares;
  };

  struct Curves {
    double begin_s = 0;
    double end_s = 0;
    std::vector<Curve> links;  // those that carried anything, the busiest first
  };

  // Number of a link.
  int add_link(const std::string& name, double bandwidth_bytes_per_s);
  void add_flow(int link, double begin_s, double end_s, double bytes) {
    flows_.push_back({link, begin_s, end_s, bytes});
  }
  // Forgets what ended by `begin_s`.
  void keep_from(double begin_s);

  // `intervals` > 0.
  Curves curves(double begin_s, double end_s, int intervals) const;

 private:
  struct Link {
    std::string name;
    double bandwidth_bytes_per_s = 0;
  };
  struct Flow {
    int link = 0;
    double begin_s = 0;
    double end_s = 0;
    double bytes = 0;
  };
  std::vector<Link> links_;
  std::vector<Flow> flows_;
};

}  // namespace forescale
