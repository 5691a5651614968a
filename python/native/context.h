// The context that Python objects share: it lives as long as the last array made with it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include <freeflow/core/context.h>

namespace freeflow::python {

struct PyContext {
  PyContext(Context c, nanobind::object k) : keeper(std::move(k)), context(std::move(c)) {}
  ~PyContext() {
    { const Context ended = std::move(context); }  // it waits for the stream that is kept
    const nanobind::gil_scoped_acquire gil;
    keeper.reset();
  }
  PyContext(const PyContext&) = delete;

  nanobind::object keeper;  ///< of a lent stream
  Context context;
  std::recursive_mutex busy;  ///< one thread at a time; a progress callback may come back
};
using SharedContext = std::shared_ptr<PyContext>;

/// Runs work without the GIL, alone on its context.
template <class Work>
auto on(PyContext& shared, const Work& work) {
  const nanobind::gil_scoped_release others_run;
  const std::lock_guard alone(shared.busy);
  return work(shared.context);
}

void bind_context(nanobind::module_& m);

}  // namespace freeflow::python
