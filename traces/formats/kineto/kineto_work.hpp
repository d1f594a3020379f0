// What an operator of PyTorch asks a GPU for, by its name and the shapes of its operands.
#pragma once

#include "algorithms/worker.hpp"
#include "traces/formats/kineto/kineto_event.hpp"

namespace forescale {

// Matrix products, convolutions and attention with "Input Dims" (record_shapes=True); empty for
// all other operators, and where a shape cannot be told. FP32 stands for TF32 too, which kernels'
// names tell. Limits: how operands are transposed is not in a trace: A is taken to be, as for the
// weights of a linear layer; sequences of one length in attention.
KernelWork work_of(const KinetoEvent& event);

}  // namespace forescale
