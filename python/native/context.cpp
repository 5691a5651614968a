#include <freeflow/python/native/context.h>

#include <cstdint>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <freeflow/core/error.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

/// CUDA's handle of the legacy default stream, which its frameworks call 0.
constexpr std::uintptr_t legacy_stream = 1;

SharedContext make_context(const std::string& device, int threads,
                           std::optional<std::uintptr_t> stream, nb::object keeper) {
  require(threads >= 0 && threads <= 4096, "threads must lie between 0 (all) and 4096");
  const Device found = Device::parse(device);
  if (!found.is_cuda()) {
    require(!stream, "stream goes with a CUDA device, and device is " + found.name());
    return std::make_shared<PyContext>(Context(found, threads), nb::object());
  }
  // Without a stream of the caller's that which torch and cupy work on unless told otherwise: their
  // kernels still read what is freed here, and write what is read here, in order.
  const std::uintptr_t handle = stream.value_or(0) ? *stream : legacy_stream;
  auto* const lent = reinterpret_cast<void*>(handle);  // NOLINT(performance-no-int-to-ptr)
  return std::make_shared<PyContext>(Context::on_stream(found, lent, threads), std::move(keeper));
}

nb::dict statistics(const PyContext& c) {
  nb::dict out;
  out["bytes_in_use"] = c.context.statistics().bytes_in_use;
  out["peak_bytes"] = c.context.statistics().peak_bytes;
  return out;
}

}  // namespace

void bind_context(nb::module_& m) {
  nb::class_<PyContext>(m, "Context")
      .def_static("make", &make_context, nb::arg("device"), nb::arg("threads"),
                  nb::arg("stream").none(), nb::arg("keeper").none())
      .def_prop_ro("device", [](const PyContext& c) { return c.context.device().name(); })
      .def_prop_ro("description",
                   [](const PyContext& c) { return c.context.device().description(); })
      .def_prop_ro("is_cuda", [](const PyContext& c) { return c.context.device().is_cuda(); })
      .def_prop_ro("index", [](const PyContext& c) { return c.context.device().index; })
      .def_prop_ro("threads", [](const PyContext& c) { return c.context.threads(); })
      .def_prop_ro("stream",
                   [](const PyContext& c) {
                     return reinterpret_cast<std::uintptr_t>(c.context.stream());  // NOLINT
                   })
      .def_prop_ro("statistics", &statistics)
      .def("synchronize", [](PyContext& c) { on(c, [](Context& ctx) { ctx.synchronize(); }); });
  m.def(
      "available_devices",
      [] {
        std::vector<std::string> names;
        for (const Device& d : available_devices()) names.push_back(d.name());
        return names;
      },
      "What Context(device) takes here: \"cpu\", and each GPU as \"cuda:0\".");
}

}  // namespace freeflow::python
