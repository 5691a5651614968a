// Denoising of surfaces on volumes of Python's arrays.
#pragma once

#include <nanobind/nanobind.h>

namespace freeflow::python {

void bind_surface(nanobind::module_& m);

}  // namespace freeflow::python
