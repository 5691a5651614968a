// One subject of a template, in host memory: the device holds one at a time.
#pragma once

#include <string>
#include <vector>

#include <freeflow/atlas/content_key.h>
#include <freeflow/core/geometry.h>

namespace freeflow {

struct AtlasSubject {
  /// For messages and reports; no two subjects have the same. Fewer than 256 bytes.
  std::string name;
  Geometry geometry;
  /// Such as T1 and T2: x fastest, all on `geometry`, as many for every subject, in one order. A
  /// NaN has no value.
  std::vector<std::vector<float>> channels;
  /// On `geometry`, above 0.5 where registrations look; empty: everywhere.
  std::vector<float> mask;
};

/// Of where the voxels lie, whatever the space is called.
ContentKey content_of_grid(const Geometry& grid);
/// Of grid, voxels and mask, whatever the name.
ContentKey content_of(const AtlasSubject& subject);

}  // namespace freeflow
