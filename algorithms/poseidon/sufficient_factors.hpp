// Gradients of fully connected layers as sufficient factors: what each way of exchanging them moves
// and costs, in closed form.
//
// The gradient of M x N weights over a batch of K images is the sum of K outer products u v^T: K
// vectors of M values (errors) and K of N values (activations) say the same as M N values.
// Poseidon (arXiv 1512.06216), section 4.3; Algorithm 3.
#pragma once

#include <cstdint>

namespace forescale {

struct FactorCase {
  std::int64_t rows = 0;     // M
  std::int64_t columns = 0;  // N
  std::int64_t batch = 0;    // K, images of one worker
  int workers = 1;           // P
};

// Full matrices both ways through the server: 2 P M N values an iteration.
double full_matrix_values(const FactorCase& layer);
// Broadcast among peers as the paper counts it: (P-1)^2 K (M+N) values.
double paper_broadcast_values(const FactorCase& layer);
// What P peers that each send to the P-1 others really move: P (P-1) K (M+N) values.
double broadcast_values(const FactorCase& layer);
// Factors to the server, full matrices back, as Microsoft's Adam: P K (M+N) + P M N values.
double factors_to_server_values(const FactorCase& layer);
// Sum of all workers' outer products, on each worker (or once, on the server): 2 P K M N.
double reconstruction_flops(const FactorCase& layer);

enum class FactorPath { kMatrices, kBroadcast, kToServer };
const char* name_of(FactorPath path);

// Line 6 of Algorithm 3, with the paper's counts: broadcast unless the server's way moves less.
FactorPath choose_factor_path(const FactorCase& layer);

}  // namespace forescale
