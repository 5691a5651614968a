#include <freeflow/python/native/surface.h>

#include <string>
#include <utility>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <freeflow/denoise/nonlocal_means.h>
#include <freeflow/denoise/signed_distance.h>
#include <freeflow/python/native/arrays.h>
#include <freeflow/python/native/observer.h>
#include <freeflow/python/native/options.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

/// Ctrl-C and the callback of a registration: (stage, 0, 1, done, all, 0).
class SurfaceObserver : public NonlocalMeansObserver {
 public:
  explicit SurfaceObserver(PyObserver& watch) : watch_(watch) {}
  void on_search(double share) override { tell("search", int(100 * share), 100); }
  void on_iteration(int iteration, int iterations) override {
    tell("denoise", iteration, iterations);
  }
  bool stop_requested() override { return watch_.stop_requested(); }

 private:
  void tell(const char* stage, int done, int all) { watch_.report(stage, 0, 1, done, all, 0); }

  PyObserver& watch_;
};

PyVolume<float> distance_to(const PyVolume<float>& image, double iso, bool inside_above) {
  return {image.context,
          on(*image.context,
             [&](Context& ctx) {
               return signed_distance(ctx, image.voxels, iso,
                                      inside_above ? Inside::above : Inside::below);
             }),
          image.axes};
}

nb::dict report_of(const NonlocalMeansResult& r) {
  nb::dict out;
  out["band_elements"] = r.band_elements;
  out["band_mm"] = r.band_mm;
  out["noise_mm"] = r.noise_mm;
  out["c2"] = r.c2;
  out["time_step"] = r.time_step;
  out["shift_mm"] = r.shift_mm;
  out["mean_change_mm"] = r.mean_change_mm;
  out["max_change_mm"] = r.max_change_mm;
  out["held_voxels"] = r.held_voxels;
  nb::dict seconds;
  seconds["search"] = r.search_seconds;
  seconds["iterations"] = r.iteration_seconds;
  seconds["distance"] = r.distance_seconds;
  out["seconds"] = seconds;
  return out;
}

/// (distance, level set, report)
nb::tuple denoise(const PyVolume<float>& distance, const nb::dict& options,
                  const nb::object& progress) {
  const NonlocalMeansOptions o = denoising_options(options);
  NonlocalMeansResult result = observed(progress, [&](PyObserver& watch) {
    SurfaceObserver surface(watch);
    return on(*distance.context,
              [&](Context& ctx) { return nonlocal_means(ctx, distance.voxels, o, &surface); });
  });
  const nb::dict report = report_of(result);
  return nb::make_tuple(
      PyVolume<float>{distance.context, std::move(result.distance), distance.axes},
      PyVolume<float>{distance.context, std::move(result.level_set), distance.axes}, report);
}

}  // namespace

void bind_surface(nb::module_& m) {
  m.def("signed_distance", &distance_to, nb::arg("image"), nb::arg("iso"), nb::arg("inside_above"));
  m.def("denoise", &denoise, nb::arg("distance"), nb::arg("options"), nb::arg("progress").none());
}

}  // namespace freeflow::python
