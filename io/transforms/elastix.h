// Private to io/transforms: elastix' parameter files of transforms (TransformParameters.0.txt).
#pragma once

#include <string>

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

/// Translations, Euler, similarity and affine transforms and cubic B-splines, with the initial
/// transforms that they name, as elastix composes them; beside the file too, where folders have
/// moved. Linear ones become one affine; with a spline among them the whole becomes one field on
/// the grid of the fixed image, which the file holds, as transformix -def all makes it. Throws
/// IoError.
HostTransform read_elastix(const std::string& path, const TransformContext& context);

/// An affine, for -t0 and transformix, on the grid of the fixed image. Throws IoError for a chain
/// that holds a field, InvalidArgument without TransformContext::fixed.
void write_elastix(const std::string& path, const HostTransform& transform,
                   const TransformContext& context);

}  // namespace freeflow
