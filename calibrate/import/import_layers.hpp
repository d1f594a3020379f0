// Layer times of a framework as kernels: the layers' shapes come from their network.
#pragma once

#include <string>
#include <vector>

#include "calibrate/import/import_format.hpp"
#include "models/workload/network.hpp"

namespace forescale {

struct LayerNetwork {
  Network network;
  std::int64_t batch = 0;
  bool is_first_backward = false;  // gradients of the images too (Caffe's force_backward)
};

// A network as --network names it, with its batch: --batch, else what a prototxt states.
// InputError where neither does.
LayerNetwork load_layer_network(const std::string& name, std::int64_t batch);
// Of a prototxt in memory; `file` is what errors call it.
LayerNetwork layer_network(const std::string& prototxt, const std::string& file,
                           std::int64_t batch);

struct LayerRow {
  LogLine line;
  std::string layer;
  bool is_backward = false;
  double time_s = 0;
};

// Rows of one network into the target; those whose layer the network does not have, or that do no
// work on a GPU, are counted in a note.
void add_layer_rows(ImportTarget& target, const LayerNetwork& network,
                    const std::vector<LayerRow>& rows);

}  // namespace forescale
