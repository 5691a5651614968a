// ffdreg: nonrigid registration by a B-spline free-form deformation.
#include <apps/nonrigid.h>
#include <apps/output_names.h>
#include <apps/pair_list.h>
#include <apps/program.h>

namespace po = boost::program_options;
using namespace freeflow;
using namespace freeflow::apps;

namespace {

constexpr const char* summary =
    "nonrigid registration of two volumes by a cubic B-spline free-form deformation.\n"
    "Finds u so that moving(affine(x + u(x))) matches fixed(x), coarse to fine, and writes both "
    "directions.";

struct FfdregOptions {
  CommonOptions common;
  std::string spacing = "3vox", optimizer = "lbfgs";
  double total_variation = FfdOptions{}.total_variation, bending = FfdOptions{}.bending,
         log_jacobian = FfdOptions{}.log_jacobian;
};

po::options_description all_options(FfdregOptions& o) {
  po::options_description own("Free-form deformation");
  own.add_options()  //
      ("spacing", po::value(&o.spacing)->default_value(o.spacing)->value_name("3vox|10mm"),
       "distance of the control points on the finest level, in its smallest voxel side or mm; "
       "doubled on every coarser level")  //
      ("total-variation",
       po::value(&o.total_variation)->default_value(o.total_variation, "0.16")->value_name("W"),
       "weight of the displacement's total variation: a jump costs what a slope does; weights are "
       "in "
       "units of the measure's range, so that one serves all measures")  //
      ("bending", po::value(&o.bending)->default_value(o.bending, "0")->value_name("W"),
       "weight of the bending energy, in squared control spacings of the level")  //
      ("log-jacobian",
       po::value(&o.log_jacobian)->default_value(o.log_jacobian, "0.02")->value_name("W"),
       "weight of the squared logarithm of the Jacobian, against folding, on the finest level; "
       "on coarser ones in proportion to the squared control spacing")  //
      ("optimizer",
       po::value(&o.optimizer)->default_value(o.optimizer)->value_name("gradient|cg|lbfgs"),
       "rule of descent");
  po::options_description all = common_options(o.common);
  all.add(own);
  return all;
}

FfdOptions library_options(const FfdregOptions& o) {
  FfdOptions ffd;
  apply_common(o.common, ffd);
  ffd.spacing = parse_spacing(o.spacing);
  ffd.with_control_points = parse_outputs(o.common.outputs).lattice;
  ffd.bending = o.bending;
  ffd.log_jacobian = o.log_jacobian;
  ffd.total_variation = o.total_variation;
  ffd.optimizer =
      chosen(parse_optimizer(o.optimizer), "optimizer", o.optimizer, "gradient, cg, lbfgs");
  ffd.validate();
  return ffd;
}

int run(int argc, char** argv) {
  FfdregOptions o;
  po::variables_map found;
  if (!parse_command_line(argc, argv, "ffdreg",
                          {summary, nonrigid_example("ffdreg"),
                           everyday_options({"linear", "start", "spacing", "bending"})},
                          all_options(o), found))
    return done;
  std::vector<CommonOptions> pairs;
  const FfdOptions ffd = with_config_named(found, [&] {
    pairs = checked_pairs(o.common, nonrigid_names);
    return library_options(o);
  });
  return run_nonrigid("ffdreg", pairs, found, ffd);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("ffdreg", [&] { return run(argc, argv); });
}
