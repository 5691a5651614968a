// What a registration did, as a dict with the keys of the programs' report.json.
#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <freeflow/registration/registration_result.h>

namespace freeflow::python {

nanobind::dict report_of(const RegistrationResult& result);
nanobind::dict report_of(const LinearResult& result);
nanobind::list list_of(const std::vector<std::string>& sentences);

}  // namespace freeflow::python
