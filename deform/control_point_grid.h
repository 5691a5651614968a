// A cubic B-spline free-form deformation (Rueckert 1999): coefficients on a regular lattice along a
// grid's axes.
//
// Lattice coordinate p (mm along an axis of the fixed grid) is 0 at the fixed grid's first voxel
// centre; coefficient j stands at (j - 1) * spacing. Coefficients are displacements in millimetres
// along the fixed grid's axes, one plane per component, so they mean the same on every level of a
// pyramid.
#pragma once

#include <array>
#include <vector>

#include <freeflow/core/buffer.h>
#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

class ControlPointGrid {
 public:
  /// Zero displacement. spacing_mm: distance of coefficients per axis. Covers `fixed` and up to
  /// `margin_mm` beyond it (a coarse level's outermost voxel centres may lie outside the finest
  /// grid's). Throws InvalidArgument for a spacing <= 0.
  ControlPointGrid(Context& ctx, const Geometry& fixed, const Eigen::Vector3d& spacing_mm,
                   const Eigen::Vector3d& margin_mm);

  const Geometry& fixed_geometry() const { return fixed_; }
  const Eigen::Vector3d& spacing_mm() const { return spacing_; }
  /// Where the coefficients stand in the world.
  Geometry geometry() const;
  /// Number of coefficients per axis: knot intervals + 3.
  Extent extent() const { return extent_; }
  FieldView<float> view() { return {coefficients_.data(), extent_}; }
  FieldView<const float> view() const { return {coefficients_.data(), extent_}; }
  Buffer<float>& coefficients() { return coefficients_; }
  const Buffer<float>& coefficients() const { return coefficients_; }
  /// For require_on_device.
  const std::shared_ptr<ContextState>& owner() const { return coefficients_.owner(); }

  /// Knot intervals that such a lattice takes along an axis.
  static int intervals(const Geometry& fixed, const Eigen::Vector3d& spacing_mm,
                       const Eigen::Vector3d& margin_mm, int axis);

  /// Passes through u at the control points (u's values on any grid, linearly between its voxels,
  /// its border's beyond).
  void interpolate(Context& ctx, const DisplacementField& u);

  /// The same deformation, exactly, with half the spacing along the axes named (subdivision).
  /// Coefficients that reach no voxel any more are dropped.
  ControlPointGrid refined(Context& ctx, const std::array<bool, 3>& axes) const;

 private:
  ControlPointGrid() = default;
  ControlPointGrid(Context& ctx, const ControlPointGrid& coarse, int axis);

  Geometry fixed_;
  Eigen::Vector3d spacing_, margin_;
  Extent extent_;
  Buffer<float> coefficients_;
};

struct AxisTaps;

/// Evaluates a lattice on one grid that shares its axes (a pyramid level of the fixed grid), and
/// the transpose of that. Both are three passes of four taps, one per axis. Owns its tables and
/// scratch: build one per level, then no call allocates.
class SplineSampler {
 public:
  /// in_slabs: gather_slices is to be called, whose sums take a third of a field or less.
  SplineSampler(Context& ctx, const ControlPointGrid& lattice, const Geometry& grid,
                bool in_slabs = false);

  /// u(x) in voxels of the grid, for every voxel.
  void evaluate(Context& ctx, FieldView<const float> coefficients, FieldView<float> u) const;
  /// The transpose of evaluate: gradient per coefficient (per mm) from a gradient per voxel (per
  /// voxel displacement).
  void adjoint(Context& ctx, FieldView<const float> per_voxel,
               FieldView<float> per_coefficient) const;

  /// evaluate in parts, the same bits: take the coefficients, then any slices, as often as asked
  /// for. u is of the slab alone, which begins at slice `first`.
  void take(Context& ctx, FieldView<const float> coefficients) const;
  void evaluate_slices(Context& ctx, int first, FieldView<float> u) const;
  /// adjoint in parts, the same bits: begin, slabs, then the sums. The slabs that reach a slice of
  /// control points come in ascending order; of them, those from `from` to before `to` are added
  /// to.
  void begin_adjoint(Context& ctx) const;
  void gather_slices(Context& ctx, int first, FieldView<const float> per_voxel, int from,
                     int to) const;
  /// How many slices of control points the voxels before a slice reach, and how many slices of
  /// voxels reach the control points before a slice.
  int reached_before(int slice) const { return slice > 0 ? first_slices_[slice - 1] + 4 : 0; }
  int reaching_before(int control_slice) const;
  void finish_adjoint(Context& ctx, FieldView<float> per_coefficient) const;

 private:
  /// Tables of one axis; on every GPU, since all threads read them.
  struct Tables {
    Buffer<int> first, begin;
    Buffer<float> weights;
  };
  AxisTaps taps(const Context& ctx, int axis) const;
  /// The two axes after z, from sums along that.
  void gather_along_yx(Context& ctx, const float* along_z, FieldView<float> out) const;

  Extent lattice_, grid_;
  std::array<float, 3> voxels_per_mm_;
  std::vector<std::array<Tables, 3>> tables_;  // for each GPU
  std::vector<int> first_slices_;              // along z, on the host
  Buffer<float> after_x_, after_y_, gathered_;
};

/// det(d phi / dx) of the spline itself, from its analytic derivatives, at every voxel of `grid`
/// (dimensionless).
Volume<float> spline_jacobian(Context& ctx, const ControlPointGrid& lattice, const Geometry& grid);

}  // namespace freeflow
