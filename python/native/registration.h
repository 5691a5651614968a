// The registrations of the library on volumes of Python's arrays.
#pragma once

#include <nanobind/nanobind.h>

namespace freeflow::python {

void bind_registration(nanobind::module_& m);

}  // namespace freeflow::python
