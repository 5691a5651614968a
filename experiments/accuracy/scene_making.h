// Scenes with a known truth, made from real images: a smooth deformation that is known at every
// voxel, images harmed as scanners and patients harm them, the same voxels stored in another order.
// Everything follows from the input and a seed: noise is a hash of seed and voxel, so that neither
// threads nor machines change it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <freeflow/deform/displacement_field.h>
#include <freeflow/evaluation/field_quality.h>
#include <freeflow/io/image_file.h>

namespace freeflow::accuracy {

/// A number in (0, 1), the same for the same three everywhere.
double hashed(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

/// Where the object is: the voxels above the mean intensity.
struct Object {
  std::array<int, 3> low{}, high{};     ///< first and last voxel along each axis
  Eigen::Vector3d centroid, deviation;  ///< in voxels along the grid's axes
  double white = 0;                     ///< what 99 % of the object's voxels stay below
  std::vector<std::uint8_t> marked;     ///< per voxel
  Eigen::Vector3d side_mm(const Geometry& grid) const;
};
Object find_object(const HostImage& image);

struct WarpOptions {
  double largest_mm = 0;  ///< length of the largest displacement over the grid
  /// 1 for Gaussians of a tenth to a fifth of the object's side, less for narrower and more of them
  double width = 1;
  std::uint64_t seed = 1;
};
struct KnownWarp {
  DisplacementField u;
  FieldQuality quality;  ///< no fold at any corner
  double width = 1;      ///< what it came to
};
/// A sum of Gaussians within the object. They are widened until no determinant at a voxel's corner
/// is below 0.1. Throws RegistrationError where that does not help.
KnownWarp known_warp(Context& ctx, const Geometry& grid, const Object& object,
                     const WarpOptions& options);

/// Means of blocks of `factor` voxels along each axis; what is left over at the far ends is lost.
HostImage shrink(const HostImage& image, int factor);

/// Takes `share` of the object off its lower end (along the axis nearest to z of the world) and
/// half as much off one side (nearest to x), with all that lies beyond. `others` lie on the same
/// grid and are cut alike.
void crop(HostImage& image, const std::vector<HostImage*>& others, double share);

/// Keeps that many slices in the middle of the last axis. `others` lie on the same grid and are cut
/// alike.
void keep_slices(HostImage& image, const std::vector<HostImage*>& others, int slices);

/// A multiplicative field of low frequency, 1 - `share` to 1 + `share` within the object.
void add_bias(HostImage& image, double share, std::uint64_t seed);
/// Noise whose deviation is `share` of the object's white: of a magnitude image (Rician), or added
/// (Gaussian) where voxels are negative, as in CT.
void add_noise(HostImage& image, double share, std::uint64_t seed);
/// A ball brighter than all, beside the object's middle, with an edge of one voxel. Returns the
/// share of it in each voxel.
std::vector<float> add_lesion(HostImage& image, double diameter_mm);

/// The same image with its axes in another order: "+y-x+z" runs first along the old y, then against
/// the old x. Every voxel stays at its place in the world. Throws InvalidArgument for other words.
HostImage stored_as(const HostImage& image, const std::string& axes);

/// A textured ellipsoid with labels 1 to 8, one per octant, where no real image is at hand.
struct Phantom {
  HostImage image, labels;
};
Phantom phantom();

}  // namespace freeflow::accuracy
