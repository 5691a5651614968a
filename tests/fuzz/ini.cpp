// The INI files of --config, with an option of every kind that the programs have.
#include "support.h"

#include <cmath>

#include <apps/config_file.h>

namespace po = boost::program_options;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.ini", bytes, count);
  std::vector<std::string> files, words;
  std::string word = "auto";
  int number = 3;
  double real = 0.5;
  bool flag = false;
  po::options_description options;
  options.add_options()                                              //
      ("fixed,f", po::value(&files))                                 //
      ("channel-weights", po::value(&words)->multitoken())           //
      ("similarity,s", po::value(&word)->default_value(word, word))  //
      ("levels", po::value(&number)->default_value(number))          //
      ("bending", po::value(&real)->default_value(real))             //
      ("quiet,q", po::bool_switch(&flag))                            //
      ("help,h", po::value(&words)->implicit_value(std::vector<std::string>{}, ""));
  po::variables_map found;
  fuzz::reads([&] {
    apps::read_config(path, "ffdreg", options, found);
    po::notify(found);
    fuzz::expect(found.contains("levels"), "what the file does not name has its default");
  });
  return 0;
}
