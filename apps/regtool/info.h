// What regtool info prints, line by line on stdout.
#pragma once

#include <Eigen/Geometry>

#include <string>
#include <vector>

#include <freeflow/core/context.h>
#include <freeflow/core/geometry.h>
#include <freeflow/io/image_header.h>
#include <freeflow/io/transforms/transform_formats.h>

namespace freeflow::apps {

/// "name       text", printf's.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void print_line(const char* name, const char* format, ...);

void print_grid(const Geometry& geometry);
/// Three rows of four.
void print_matrix(const char* name, const Eigen::Affine3d& matrix);

/// A NIfTI file of three numbers a voxel, as components or as volumes.
bool may_be_a_transform(const ImageHeader& header);

/// Header, placement, and the range of a scalar volume, which is read once. Warnings are appended.
void print_image(const std::string& path, const ImageHeader& header,
                 std::vector<std::string>& warnings);

/// Every step of the chain in `transform`. `fixed`: the grid whose centre is followed, or null.
void print_transform(Context& ctx, TransformFormat format, const HostTransform& transform,
                     const Geometry* fixed);

}  // namespace freeflow::apps
