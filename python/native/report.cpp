#include <freeflow/python/native/report.h>

#include <nanobind/stl/string.h>

#include <freeflow/python/native/errors.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

nb::list list_of(const Eigen::Vector3d& v) {
  nb::list out;
  for (const double x : v) out.append(x);
  return out;
}

nb::dict before_after(double before, double after) {
  nb::dict out;
  out["before"] = before;
  out["after"] = after;
  return out;
}

nb::dict iteration(const LevelRecord& level, const IterationRecord& i) {
  nb::dict entry;
  entry["iteration"] = i.iteration;
  entry["cost"] = i.cost;
  entry["similarity_cost"] = i.similarity;
  for (std::size_t p = 0; p < i.penalties.size(); ++p)
    entry[level.penalty_names[p].c_str()] = i.penalties[p];
  entry["step_mm"] = i.step_mm;
  return entry;
}

nb::list levels_of(const std::vector<LevelRecord>& levels) {
  nb::list out;
  for (const LevelRecord& level : levels) {
    nb::dict entry;
    nb::list grid, iterations;
    for (int axis = 0; axis < 3; ++axis) grid.append(level.grid[axis]);
    for (const IterationRecord& i : level.iterations) iterations.append(iteration(level, i));
    entry["level"] = level.level + 1;
    entry["grid"] = grid;
    entry["seconds"] = level.seconds;
    entry["iterations_at_most"] = level.max_iterations;
    entry["evaluations"] = level.evaluations;
    if (level.regriddings > 0) entry["regriddings"] = level.regriddings;
    entry["stopped_because"] = level.stopped_because;
    entry["iterations"] = iterations;
    out.append(entry);
  }
  return out;
}

nb::dict linear_part(const LinearResult& r) {
  nb::dict out;
  nb::list matrix;
  for (int row = 0; row < 3; ++row) {
    nb::list numbers;
    for (int column = 0; column < 4; ++column) numbers.append(r.affine.matrix()(row, column));
    matrix.append(numbers);
  }
  out["fixed_to_moving_lps"] = matrix;
  out["center_mm_lps"] = list_of(r.center);
  out["rotation_degrees_xyz"] = list_of(r.parts.euler_degrees());
  out["translation_mm"] = list_of(r.parts.translation);
  out["scale"] = list_of(r.parts.scale);
  out["skew_xy_xz_yz"] = list_of(r.parts.skew);
  out["start_kept"] = r.start_kept;
  out["whole_images_first"] = r.whole_images_first;
  out["cost"] = before_after(r.cost_before, r.cost_after);
  out["overlap_fraction"] = before_after(r.overlap_before, r.overlap_after);
  return out;
}

nb::dict start_part(const StartRecord& s) {
  nb::dict out;
  out["taken"] = s.taken;
  out["reason"] = s.reason.c_str();
  out["largest_displacement_mm"] = s.largest_mm;
  out["root_mean_square_displacement_mm"] = s.root_mean_square_mm;
  out["moving_parts_mm"] = s.moving_parts_mm;
  out["object_mm"] = s.object_mm;
  out["cost"] = before_after(s.cost_before, s.cost_after);
  out["inconsistency_mm"] = s.inconsistency_mm;
  out["seconds"] = s.seconds;
  return out;
}

nb::dict jacobian_part(const RegistrationResult& r) {
  const JacobianStatistics& j = r.jacobian;
  const double voxels = double(r.displacement.extent().count());
  nb::dict out;
  out["min"] = j.min;
  out["max"] = j.max;
  out["mean_log"] = j.mean_log;
  out["sd_log"] = j.sd_log;
  out["corner_min"] = j.corner_min;
  out["folded_voxels"] = j.folded_voxels;
  out["folded_percent"] = 100.0 * double(j.folded_voxels) / voxels;
  out["below_bound_before_unfolding"] = r.unfolding.voxels_before;
  out["below_bound_after_unfolding"] = r.unfolding.voxels_after;
  out["unfolding_rounds"] = r.unfolding.rounds;
  return out;
}

}  // namespace

nb::list list_of(const std::vector<std::string>& sentences) {
  nb::list out;
  for (const std::string& s : in_python(sentences)) out.append(nb::str(s.c_str()));
  return out;
}

nb::dict report_of(const LinearResult& r) {
  nb::dict out, seconds;
  out["warnings"] = list_of(r.warnings);
  out["levels"] = levels_of(r.levels);
  seconds["linear"] = r.seconds;
  out["seconds"] = seconds;
  out["overlap_fraction"] = before_after(r.overlap_before, r.overlap_after);
  out["linear"] = linear_part(r);
  return out;
}

nb::dict report_of(const RegistrationResult& r) {
  nb::dict out, seconds;
  nb::list warnings = list_of(r.warnings);
  out["levels"] = levels_of(r.levels);
  seconds["linear"] = r.linear ? r.linear->seconds : 0.0;
  seconds["start"] = r.start ? r.start->seconds : 0.0;
  seconds["nonrigid"] = r.nonrigid_seconds;
  seconds["inverting"] = r.inverse_seconds;
  out["seconds"] = seconds;
  out["overlap_fraction"] = before_after(r.overlap_before, r.overlap_after);
  if (r.linear) {
    nb::dict linear = linear_part(*r.linear);
    linear["levels"] = levels_of(r.linear->levels);
    out["linear"] = linear;
    warnings.extend(list_of(r.linear->warnings));
  }
  out["warnings"] = warnings;
  if (r.start) out["start"] = start_part(*r.start);
  out["jacobian"] = jacobian_part(r);
  return out;
}

nb::dict report_of(const Similarities& s, const DisplacementRange* range) {
  const auto or_none = [](const std::optional<double>& value) {
    return value ? nb::object(nb::float_(*value)) : nb::none();
  };
  nb::dict out, similarity;
  similarity["measure"] = "nmi";
  similarity["before"] = or_none(s.before);
  similarity["affine"] = or_none(s.affine);
  similarity["after"] = or_none(s.after);
  out["similarity"] = similarity;
  if (!range) return out;
  nb::dict lengths;
  lengths["mean"] = range->mean_mm;
  lengths["p99"] = range->p99_mm;
  lengths["max"] = range->max_mm;
  out["displacement_mm"] = lengths;
  return out;
}

nb::list weights_of(const SimilarityChoice& similarity, std::size_t channels) {
  nb::list out;
  for (const double weight : similarity.weights_of(channels)) out.append(weight);
  return out;
}

nb::dict report_of_inverse(const RegistrationResult& r) {
  nb::dict out, residual, unfolding, seconds;
  residual["mean"] = r.inverse->residual.mean_voxels;
  residual["max"] = r.inverse->residual.max_voxels;
  unfolding["below_bound_before"] = r.inverse_unfolding.voxels_before;
  unfolding["below_bound_after"] = r.inverse_unfolding.voxels_after;
  unfolding["rounds"] = r.inverse_unfolding.rounds;
  seconds["inverting"] = r.inverse_seconds;
  out["inverse_residual_voxels"] = residual;
  out["inverse_unfolding"] = unfolding;
  out["seconds"] = seconds;
  return out;
}

}  // namespace freeflow::python
