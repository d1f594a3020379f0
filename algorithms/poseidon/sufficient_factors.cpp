#include "algorithms/poseidon/sufficient_factors.hpp"

namespace forescale {
namespace {

// One worker's factors and one full matrix, values.
double factors(const FactorCase& layer) {
  return static_cast<double>(layer.batch) * static_cast<double>(layer.rows + layer.columns);
}
double matrix(const FactorCase& layer) {
  return static_cast<double>(layer.rows) * static_cast<double>(layer.columns);
}

}  // namespace

double full_matrix_values(const FactorCase& layer) { return 2.0 * layer.workers * matrix(layer); }

double paper_broadcast_values(const FactorCase& layer) {
  return (layer.workers - 1.0) * (layer.workers - 1.0) * factors(layer);
}

double broadcast_values(const FactorCase& layer) {
  return layer.workers * (layer.workers - 1.0) * factors(layer);
}

double factors_to_server_values(const FactorCase& layer) {
  return layer.workers * (factors(layer) + matrix(layer));
}

double reconstruction_flops(const FactorCase& layer) {
  return 2.0 * layer.workers * static_cast<double>(layer.batch) * matrix(layer);
}

const char* name_of(FactorPath path) {
  switch (path) {
    case FactorPath::kMatrices:
      return "matrices";
    case FactorPath::kBroadcast:
      return "factors";
    case FactorPath::kToServer:
      return "factors-to-server";
  }
  return "";
}

FactorPath choose_factor_path(const FactorCase& layer) {
  return paper_broadcast_values(layer) <= factors_to_server_values(layer) ? FactorPath::kBroadcast
                                                                          : FactorPath::kToServer;
}

}  // namespace forescale
