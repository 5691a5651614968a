// Options as Python gives them, a dict of words and numbers in the programs' vocabulary, as the
// library's structs.
#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <freeflow/denoise/nonlocal_means.h>
#include <freeflow/registration/register_images.h>

namespace freeflow::python {

/// Of register(): `model` is flow, ffd, fluid or demons. Throws InvalidArgument naming the
/// argument, also for one that the model does not look at.
RegistrationOptions registration_options(const std::string& model, const nanobind::dict& options);
/// `model` is rigid, similarity, scaled or affine.
LinearOptions linear_options(const std::string& model, const nanobind::dict& options);
NonlocalMeansOptions denoising_options(const nanobind::dict& options);

/// The names that a model takes, for people.
std::vector<std::string> option_names(const std::string& model);

}  // namespace freeflow::python
