// Templates: the mean image and the mean shape of a group, by rounds of registration (Guimond,
// Meunier and Thirion 2000; Joshi, Davis, Jomier and Gerig 2004; Avants et al. 2010).
//
//   std::vector<freeflow::AtlasSubject> subjects = ...;
//   const freeflow::AtlasResult atlas = freeflow::build_atlas(ctx, std::move(subjects));
//
// No subject is special: all are mapped linearly to one of middle size, and the mean of those maps
// in the log domain is taken out again, once more about the average that they make. Then in every
// round each subject is registered to the template, from where it was left, so that what a
// registration does not find the template does not lose; the template's shape moves by the inverse
// of the mean deformation and every subject's deformation with it; and the subjects, sampled once
// from their own voxels, are averaged. Sums are of integers, or in the order of the subjects'
// contents: neither the list's order, nor threads, nor the number of processes change a bit.
//
// The device holds one subject at a time, beside what one registration takes; the host holds all of
// this process, in floats, and a deformation of 6 bytes per voxel of the template for each.
#pragma once

#include <vector>

#include <freeflow/atlas/atlas_options.h>
#include <freeflow/atlas/atlas_result.h>
#include <freeflow/atlas/atlas_surroundings.h>

namespace freeflow {

/// subjects: of this process; with several processes every subject belongs to one. Throws
/// InvalidArgument for fewer than two subjects, two of one name, different numbers of channels and
/// unusable options; RegistrationError naming the subject that cannot be registered or has another
/// contrast than the rest, unless AtlasOptions::keep_going; StateError, DeviceError, Cancelled. All
/// processes must end when one throws.
AtlasResult build_atlas(Context& ctx, std::vector<AtlasSubject> subjects,
                        const AtlasOptions& options = {}, const AtlasSurroundings& around = {});

/// What an earlier call left, without doing the work; throws as build_atlas does for subjects that
/// it cannot use. Without AtlasSurroundings::state nothing is kept.
KeptWork kept_work(Context& ctx, std::vector<AtlasSubject> subjects, const AtlasOptions& options,
                   const AtlasSurroundings& around);

/// Device memory that it takes at most, in bytes, for subjects on such grids and a template on
/// `grid`.
std::size_t predict_atlas_bytes(const Context& ctx, const Geometry& grid, const Geometry& subject,
                                const AtlasOptions& options, std::size_t channels = 1,
                                bool with_masks = false);

}  // namespace freeflow
