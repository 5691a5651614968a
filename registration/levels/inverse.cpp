#include <freeflow/registration/levels/inverse.h>

#include <utility>

#include <freeflow/core/error.h>
#include <freeflow/deform/storage_order.h>
#include <freeflow/registration/levels/inverse_in_order.h>
#include <freeflow/registration/levels/seconds_since.h>

namespace freeflow {

namespace {

/// The way back: ordered(ordered(grid, order), backwards(order)) is the grid.
StorageOrder way_back(const StorageOrder& order) {
  StorageOrder back;
  for (std::size_t k = 0; k < 3; ++k) {
    back.axis[std::size_t(order.axis[k])] = int(k);
    back.backwards[std::size_t(order.axis[k])] = order.backwards[k];
  }
  return back;
}

/// exp(-v), unless exp(v) had to be unfolded.
Inverse inverse_of(Context& ctx, const RegistrationResult& result, bool symmetric,
                   const StopRequest& stop) {
  // The velocity of an image's content() ends with it.
  if (!symmetric || result.unfolding.rounds > 0 ||
      !same_grid(result.velocity.geometry(), result.displacement.geometry()))
    return invert(ctx, result.displacement, {}, stop);
  Inverse inverse{exponential(ctx, result.velocity, exponential_squarings, -1), {}};
  inverse.residual = inverse_residual(ctx, result.displacement, inverse.field);
  return inverse;
}

}  // namespace

void add_inverse_in_order(Context& ctx, RegistrationResult& result, bool symmetric,
                          const StopRequest& stop) {
  const auto start = Clock::now();
  result.inverse = inverse_of(ctx, result, symmetric, stop);
  // What inverts a strong compression changes faster than its grid can hold.
  result.inverse_unfolding = unfold(ctx, result.inverse->field, {}, stop);
  if (result.inverse_unfolding.rounds > 0)
    result.inverse->residual = inverse_residual(ctx, result.displacement, result.inverse->field);
  result.inverse_seconds = seconds_since(start);
}

void add_inverse(Context& ctx, RegistrationResult& result, bool symmetric,
                 const StopRequest& stop) {
  require(!result.displacement.empty(), "there is no displacement to invert");
  require(!symmetric || !result.velocity.empty(),
          "the inverse of a symmetric registration needs its velocity");
  const Geometry& stored = result.displacement.geometry();
  const StorageOrder order = canonical_order(stored);
  if (order.as_stored()) return add_inverse_in_order(ctx, result, symmetric, stop);
  const Geometry grid = ordered(stored, order);
  RegistrationResult in_order;
  in_order.displacement = as_stored(ctx, result.displacement, grid, way_back(order));
  if (symmetric) in_order.velocity = as_stored(ctx, result.velocity, grid, way_back(order));
  in_order.unfolding = result.unfolding;
  add_inverse_in_order(ctx, in_order, symmetric, stop);
  in_order.inverse->field = as_stored(ctx, in_order.inverse->field, stored, order);
  result.inverse = std::move(in_order.inverse);
  result.inverse_unfolding = in_order.inverse_unfolding;
  result.inverse_seconds = in_order.inverse_seconds;
}

}  // namespace freeflow
