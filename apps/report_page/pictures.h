// The pictures of a page, drawn from the values of three planes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <apps/report_page/slabs.h>
#include <freeflow/io/picture_file.h>

namespace freeflow::apps {

/// A plane's pictures as data URLs; empty ones are not shown.
struct PlanePictures {
  std::string name;  ///< "axial"
  double width_mm = 0, height_mm = 0;
  std::string fixed, warped;  ///< greys of each image's own window
  std::string edges;          ///< of the fixed image, the rest transparent
  std::string difference_before, difference_affine, difference_after;
  std::string log_jacobian;             ///< folds marked
  std::string grid;                     ///< of the displacement: an SVG's paths
  int grid_width = 0, grid_height = 0;  ///< in the units of its paths
};

struct PagePictures {
  std::array<PlanePictures, 3> planes;
  int step = 1;               ///< every so many voxels of a plane make a pixel
  double grid_mm = 0;         ///< between the lines of the displacement's grid
  std::size_t bytes() const;  ///< in a page, about
};

/// Full detail as long as the page stays below the limit; else of every second voxel, and so on.
PagePictures make_pictures(const std::array<PlaneValues, 3>& planes, const Window& fixed,
                           const Window& moving, std::size_t most_bytes = 1'150'000);

/// For the legends: colours from -1 to 1 of differences (fixed minus moving, in shares of the
/// windows), and of the logarithm of the Jacobian from halved to doubled.
using Rgb = std::array<unsigned char, 3>;
Rgb difference_colour(double value);
Rgb volume_colour(double share_of_log2);
inline constexpr Rgb fold_colour{255, 43, 214}, edge_colour{255, 176, 0};

}  // namespace freeflow::apps
