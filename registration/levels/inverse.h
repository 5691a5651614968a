// The inverse of what a registration found, also long after it: whoever does not know yet whether
// it will be needed registers without it and adds it when it is.
#pragma once

#include <freeflow/registration/registration_result.h>

namespace freeflow {

/// Adds to a result what LevelOptions::with_inverse would have: the inverse of the displacement
/// without folds, how many were taken out of it and the seconds it took, to the bit. `symmetric`:
/// what FlowOptions or DemonsOptions::symmetric said, as the inverse is then exp(-v). Takes as much
/// memory as at the registration's end, and a copy of the fields where they are not stored in the
/// order of storage_order.h. Throws InvalidArgument for a result without a displacement, or without
/// the velocity of a symmetric model, and Cancelled when asked to stop.
void add_inverse(Context& ctx, RegistrationResult& result, bool symmetric,
                 const StopRequest& stop = {});

}  // namespace freeflow
