// What a registration did, as a dict with the keys of the programs' report.json.
#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <freeflow/registration/registration_result.h>
#include <freeflow/registration/report_figures.h>
#include <freeflow/similarity/similarity_choice.h>

namespace freeflow::python {

/// Without its inverse.
nanobind::dict report_of(const RegistrationResult& result);
/// What there is to say of its inverse, which it has.
nanobind::dict report_of_inverse(const RegistrationResult& result);
nanobind::dict report_of(const LinearResult& result);
/// similarity and displacement_mm, which the registration did not need; nothing of a displacement
/// where `range` is null.
nanobind::dict report_of(const Similarities& similarities, const DisplacementRange* range);
/// What a report says of the images' channels, which it says where there are several.
nanobind::list weights_of(const SimilarityChoice& similarity, std::size_t channels);
nanobind::list list_of(const std::vector<std::string>& sentences);

}  // namespace freeflow::python
