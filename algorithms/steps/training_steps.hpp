// The steps that training schedules are made of.
#pragma once

#include "algorithms/schedule.hpp"

namespace forescale {

// Waits for the iteration's training data.
void take_batch(Worker& worker);
Kernel forward(const TrainingStage& stage);
Kernel backward(const TrainingStage& stage);
// Broadcast of one layer's parameters from rank 0; reduce of its gradients to rank 0.
CollectiveStep propagate(const TrainingStage& stage);
CollectiveStep aggregate(const TrainingStage& stage);
// The same for all layers in one packed buffer.
CollectiveStep propagate_packed(const TrainingJob& job);
CollectiveStep aggregate_packed(const TrainingJob& job);
// Rank 0 applies the update; the others go on.
void update_at_root(Worker& worker, const TrainingJob& job);
// Of one iteration: everything broadcast and reduced in packed buffers, or layer by layer.
Traffic packed_traffic(const TrainingJob& job);
Traffic layered_broadcast_traffic(const TrainingJob& job);
Traffic layered_traffic(const TrainingJob& job);
// All broadcasts posted, each waited for just before the forward pass of its layer.
void propagate_under_forward(Worker& worker, const TrainingJob& job);

}  // namespace forescale
