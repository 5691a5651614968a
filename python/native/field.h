// Displacement fields as Python sees them.
#pragma once

#include <memory>

#include <freeflow/deform/displacement_field.h>
#include <freeflow/python/native/arrays.h>

namespace freeflow::python {

struct PyField {
  SharedContext context;
  std::shared_ptr<const DisplacementField> field;
  MemoryAxes axes = {0, 1, 2};

  Grid grid() const { return {field->geometry(), axes}; }
};

void bind_field(nanobind::module_& m);

}  // namespace freeflow::python
