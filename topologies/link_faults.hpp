// Links that are not as a platform's file says: slower, down and gone around, or lost.
#pragma once

#include <map>
#include <set>
#include <string>

#include "topologies/platform.hpp"

namespace forescale {

// What --link says of a link: "0.25" of its bandwidth; "down", and routes go around it; "lost", and
// none does, as before a subnet manager or a routing protocol has noticed.
struct LinkFault {
  enum class Kind { kSlow, kDown, kLost };
  Kind kind = Kind::kSlow;
  double share = 1;  // of its bandwidth, kSlow alone
};
// InputError naming `source` for a share that is not above 0 and at most 1, or another word.
LinkFault parse_link_fault(const std::string& text, const std::string& source);

// `links` names each by its two devices, "node3/nic0--leaf0", or by one: all links that leave its
// node, of a switch and of a whole node ("node3") too; of a device without any all that it has.
// Links inside nodes can be slow alone. Where links are down, messages that would have crossed one
// take a shortest way of those that are left, one of equally short ones by a hash of both ends; a
// device whose adapter has no link left uses the nearest other one of its node. InputError naming
// `source` for an unknown name, and where what is left does not join all nodes.
void apply_link_faults(Platform& platform, const std::map<std::string, std::string>& links,
                       const std::string& source);

// For people, of ranks on `nodes`: that all faults are of links of other nodes. Empty: they are
// not.
std::string faults_elsewhere(const Platform& platform, const std::set<int>& nodes);

}  // namespace forescale
