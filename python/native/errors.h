// The library's exceptions in Python, and its field names as argument names.
#pragma once

#include <string>
#include <vector>

#include <nanobind/nanobind.h>

namespace freeflow::python {

/// A sentence of the library with the arguments that Python calls its fields:
/// "FfdOptions::bending must lie" becomes "bending must lie".
std::string in_python(const std::string& sentence);
std::vector<std::string> in_python(const std::vector<std::string>& sentences);

void bind_errors(nanobind::module_& m);

}  // namespace freeflow::python
