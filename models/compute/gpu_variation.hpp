// GPUs of one kind are not equally fast: each chip's power management and silicon are its own. Who
// waits for all of them in every iteration goes at the pace of the slowest. Times of one GPU are
// taken as those of the mean one, and of all as independent and normally distributed.
// Source: Sinha, Guliani, Jain, Tran, Sinclair, Venkataraman, Not All GPUs Are Created Equal, SC22.
// Limits: one number for all kernels, though those that reach a GPU's power limit vary more than
// others; GPUs of a node are no more alike than others.
#pragma once

namespace forescale {

// The expected largest of `count` independent standard normal numbers; 0 of one. To 1e-6.
double expected_largest(int count);

// Time of the slowest of so many GPUs over that of the mean one, where `variation` is their
// standard deviation over it.
double slowest_of(int gpus, double variation);

}  // namespace forescale
