// The compiled part of the Python package. What it offers is for the package's own Python files,
// which turn arguments into volumes and name them in errors.
#include <nanobind/nanobind.h>

#include <freeflow/python/native/arrays.h>
#include <freeflow/python/native/context.h>
#include <freeflow/python/native/errors.h>
#include <freeflow/python/native/field.h>
#include <freeflow/python/native/registration.h>
#include <freeflow/python/native/surface.h>
#include <freeflow/python/native/transform.h>

NB_MODULE(_native, m) {
  using namespace freeflow::python;
  m.attr("version") = FREEFLOW_VERSION;
  bind_errors(m);
  bind_context(m);
  bind_volume(m);
  bind_field(m);
  bind_transform(m);
  bind_registration(m);
  bind_surface(m);
}
