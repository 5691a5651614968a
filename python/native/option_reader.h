// Private to options.cpp: takes values out of a dict by name, says what is wrong with one, and in
// the end what was left over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <freeflow/core/error.h>

namespace freeflow::python {

class OptionReader {
 public:
  explicit OptionReader(const nanobind::dict& options) : options_(options) {}

  /// Leaves the target as it is where the option was not given.
  template <class T>
  void take(const char* name, T& target, const char* kind) {
    const nanobind::object value = find(name);
    if (!value.is_valid()) return;
    T read{};
    // True is a number for Python.
    const bool number = !std::is_same_v<T, bool> && nanobind::isinstance<nanobind::bool_>(value);
    if (number || !nanobind::try_cast<T>(value, read, true)) refuse(name, kind, value);
    target = std::move(read);
  }
  void take(const char* name, bool& target) { take(name, target, "True or False"); }
  void take(const char* name, int& target) { take(name, target, "a whole number"); }
  void take(const char* name, double& target) { take(name, target, "a number"); }
  void take(const char* name, std::string& target) { take(name, target, "a word"); }
  /// None, or a number.
  void take(const char* name, std::optional<double>& target) {
    take(name, target, "a number or None");
  }
  /// One value, or one per level.
  void take(const char* name, std::vector<int>& target) {
    take_list(name, target, "a whole number or a list of them");
  }
  void take(const char* name, std::vector<double>& target) {
    take_list(name, target, "a number or a list of them");
  }

  /// What a word stands for. `parse` gives an optional, empty for words that it does not know.
  template <class T, class Parse>
  void choose(const char* name, T& target, const Parse& parse, const char* words) {
    std::string word;
    if (!options_.contains(name)) return note(name);
    take(name, word);
    const auto parsed = parse(word);
    require(parsed.has_value(), std::string(name) + " '" + word + "' is not one of " + words);
    target = *parsed;
  }

  /// Throws for an option that nobody took.
  void finish(const std::string& of) const {
    for (const auto& [key, value] : options_) {
      const auto name = nanobind::cast<std::string>(nanobind::str(key));
      bool known = false;
      for (const std::string& taken : names_) known = known || taken == name;
      if (known) continue;
      std::string list;
      for (const std::string& taken : names_) list += (list.empty() ? "" : ", ") + taken;
      throw InvalidArgument(name + " is no option of " + of + ", which takes " + list);
    }
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  void note(const char* name) { names_.emplace_back(name); }
  nanobind::object find(const char* name) {
    note(name);
    if (!options_.contains(name)) return {};
    return nanobind::borrow(options_[name]);
  }
  template <class T>
  void take_list(const char* name, std::vector<T>& target, const char* kind) {
    const nanobind::object value = find(name);
    if (!value.is_valid()) return;
    T one{};
    std::vector<T> list;
    if (nanobind::isinstance<nanobind::str>(value) || nanobind::isinstance<nanobind::bool_>(value))
      refuse(name, kind, value);
    if (nanobind::try_cast<T>(value, one, true))
      list = {one};
    else if (!nanobind::try_cast<std::vector<T>>(value, list, true))
      refuse(name, kind, value);
    target = std::move(list);
  }
  [[noreturn]] static void refuse(const char* name, const char* kind, nanobind::handle value) {
    throw InvalidArgument(std::string(name) + " must be " + kind + ", and is " +
                          nanobind::cast<std::string>(nanobind::repr(value)));
  }

  const nanobind::dict& options_;
  std::vector<std::string> names_;
};

}  // namespace freeflow::python
