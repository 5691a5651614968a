// Private: the mean of the states that a level of a flow ends with. Steps that keep their length go
// round about the best field; the mean of where they went lies nearer to it (Polyak and Juditsky
// 1992, "Acceleration of stochastic approximation by averaging").
#pragma once

#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/displacement_field.h>
#include <freeflow/registration/flow/running_mean_body.h>

namespace freeflow {

class RunningMean {
 public:
  RunningMean(Context& ctx, const Geometry& grid) : mean_(ctx, grid) {}

  /// The iteration, of so many, from which on states count: the last quarter.
  static int first_of(int iterations) { return iterations - (iterations + 2) / 4; }

  /// What was added is forgotten.
  void restart() { count_ = 0; }
  void add(Context& ctx, FieldView<const float> state) {
    for_each_voxel(ctx, state.extent, RunningMeanBody{state, 1.0f / float(++count_), mean_.view()});
  }
  /// Exchanges the mean for the state, where there is one.
  void replace(DisplacementField& state) {
    if (count_ > 0) std::swap(state, mean_);
    count_ = 0;
  }

 private:
  DisplacementField mean_;
  int count_ = 0;
};

}  // namespace freeflow
