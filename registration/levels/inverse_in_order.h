// Private: the inverse while a registration's fields still lie in canonical order.
#pragma once

#include <freeflow/registration/registration_result.h>

namespace freeflow {

/// As add_inverse, of fields on a grid in canonical order (storage_order.h), where the inverse is
/// left.
void add_inverse_in_order(Context& ctx, RegistrationResult& result, bool symmetric,
                          const StopRequest& stop);

}  // namespace freeflow
