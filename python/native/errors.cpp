#include <freeflow/python/native/errors.h>

#include <exception>
#include <new>
#include <regex>
#include <utility>

#include <freeflow/core/cancelled.h>
#include <freeflow/core/error.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

/// Fields whose argument has another name; the others are called as they are.
const std::pair<const char*, const char*> other_names[] = {
    {"by LevelOptions::initial", "by init='center' or init='moments'"},
    {"give FlowOptions::initial_velocity, or an affine alone", "give an affine alone"},
    {"give DemonsOptions::initial_velocity, an affine alone", "give an affine alone"},
    {"DemonsOptions::kind", "demons"},
    {"LinearOptions::initial", "init"},
    {"Options::initial_displacement", "Options::init"},
    {"Options::initial", "Options::init"},
    {"MindOptions::", "mind_"},
    {"SimilarityChoice::border_mm", "cr_border"},
    {"SimilarityChoice::ratio_direction", "cr_of_fixed"},
    {"Smoother::automatic and VelocityKind::gaussian", "smoother='auto' and velocity='gaussian'"},
    {"SearchStrategy::global, or automatic", "strategy='global', or 'auto'"},
    {"take the CPU", "take device='cpu'"},
};

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

template <class Error>
void raise(PyObject* type, const Error& e) {
  PyErr_SetString(type, in_python(std::string(e.what())).c_str());
}

/// What nanobind asks about an exception that left C++.
void translate(const std::exception_ptr& thrown, void* types) {
  PyObject** const of = static_cast<PyObject**>(types);
  try {
    std::rethrow_exception(thrown);
  } catch (const InvalidArgument& e) {
    raise(PyExc_ValueError, e);
  } catch (const DeviceError& e) {
    raise(of[0], e);
  } catch (const RegistrationError& e) {
    raise(of[1], e);
  } catch (const IoError& e) {
    raise(PyExc_OSError, e);
  } catch (const Cancelled&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

std::string in_python(const std::string& sentence) {
  std::string text = sentence;
  for (const auto& [field, argument] : other_names) replace_all(text, field, argument);
  static const std::regex field(R"(\b[A-Z]\w*::([a-z]\w*))");
  return std::regex_replace(text, field, "$1");
}

std::vector<std::string> in_python(const std::vector<std::string>& sentences) {
  std::vector<std::string> out;
  out.reserve(sentences.size());
  for (const std::string& s : sentences) out.push_back(in_python(s));
  return out;
}

void bind_errors(nb::module_& m) {
  static PyObject* types[2];  // nanobind keeps a pointer for as long as the module lives
  types[0] = PyErr_NewExceptionWithDoc("freeflow.DeviceError",
                                       "A device is missing, failed or ran out of memory.",
                                       PyExc_RuntimeError, nullptr);
  types[1] = PyErr_NewExceptionWithDoc("freeflow.RegistrationError",
                                       "The work itself failed: images without content or overlap.",
                                       PyExc_RuntimeError, nullptr);
  m.attr("DeviceError") = nb::handle(types[0]);
  m.attr("RegistrationError") = nb::handle(types[1]);
  nb::register_exception_translator(&translate, types);
}

}  // namespace freeflow::python
