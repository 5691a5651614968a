#include <apps/atlas/command.h>

#include <apps/options.h>
#include <apps/threads.h>
#include <freeflow/core/error.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

constexpr const char* summary =
    "builds the template of a group: its mean image and mean shape, by rounds of registration.\n"
    "The same command again goes on where it was ended, to the same bits.";

constexpr const char* example =
    "Example: a template of all brains in a folder, with every subject's transform:\n"
    "  atlas -i brains/*.nii.gz -o out/group_ --transforms\n"
    "Two processes, each with a GPU of its own (a build with -DFREEFLOW_WITH_MPI=ON):\n"
    "  mpirun -n 2 --bind-to none atlas -i subjects.tsv -o out/group_\n"
    "Written: PREFIXtemplate.nii.gz, PREFIXmask.nii.gz, PREFIXreport.json, PREFIXreport.html, with "
    "labels PREFIXlabels.nii.gz and PREFIXagreement.nii.gz,\n"
    "with --probabilities PREFIXprobability_7.nii.gz of the label 7, and so on,\n"
    "with --transforms for every subject PREFIXNAME_0GenericAffine.mat, PREFIXNAME_1Warp.nii.gz "
    "and\n"
    "PREFIXNAME_1InverseWarp.nii.gz: what fluidreg (ffdreg) -f PREFIXtemplate.nii.gz -m IMAGE "
    "gives,\n"
    "with --jacobians PREFIXNAME_LogJacobian.nii.gz: positive where the subject is larger.\n"
    "What is needed to go on is in PREFIXstate/, which may be deleted when all is done.\n"
    "Exit status: 0 done, 1 the work failed, 2 the call or an input is unusable, 130 "
    "interrupted.\n";

const std::vector<std::string> everyday = {
    "input",     "output",  "masks", "labels",     "probabilities", "start",   "transforms",
    "jacobians", "rounds",  "model", "similarity", "keep-going",    "dry-run", "device",
    "threads",   "verbose", "quiet", "version",    "help"};

/// "2x4" as numbers.
std::vector<int> parse_rounds(const std::string& text) {
  try {
    return parse_iterations(text);
  } catch (const InvalidArgument&) {
    throw InvalidArgument("--rounds '" + text + "' is not of the form 2x4");
  }
}

template <class T>
auto shown(T& value) {
  return po::value(&value)->default_value(value);
}

po::options_description files_of_command(AtlasCommand& o) {
  po::options_description files("Files");
  files.add_options()  //
      ("input,i", po::value(&o.images)->multitoken()->value_name("LIST.tsv | IMAGE ..."),
       "the subjects: their images, or a table with the columns image and optionally name, mask, "
       "labels, channel2 ...")  //
      ("output,o", prefix_value(o.output),
       "start of the output names; missing folders are made")  //
      ("masks", po::value(&o.masks)->multitoken()->value_name("FILE ..."),
       "one for each image: registrations look at voxels above 0.5")  //
      ("labels", po::value(&o.labels)->multitoken()->value_name("FILE ..."),
       "one for each image: carried to the template, where the majority decides")  //
      ("probabilities", po::bool_switch(&o.probabilities),
       "with labels: a map of each label's probability, the mean over the subjects")  //
      ("start", po::value(&o.start)->value_name("IMAGE"),
       "where to start, and the template's grid; without it from the subjects themselves")  //
      ("transforms", po::bool_switch(&o.transforms),
       "register every subject to the finished template and write its transforms")  //
      ("jacobians", po::bool_switch(&o.jacobians),
       "the same, and write the logarithm of the Jacobian determinant of template to subject");
  return files;
}

po::options_description scheme_of_command(AtlasCommand& o) {
  po::options_description scheme("Template");
  scheme.add_options()  //
      ("rounds", shown(o.rounds)->value_name("NxN"),
       "at most so many rounds, coarse to fine: the last at full resolution, those before at "
       "voxels "
       "twice as large each")  //
      ("enough", po::value(&o.enough)->default_value(o.enough, "0.05")->value_name("VOX"),
       "a resolution's rounds end when the mean deformation changes by less; 0: never")  //
      ("model", shown(o.model)->value_name("flow|ffd"), "the nonrigid model")            //
      ("symmetric", po::bool_switch(&o.symmetric),
       "flow: both images pull on one velocity, and velocities are averaged; twice the time")  //
      ("similarity,s", shown(o.similarity)->value_name("auto|nmi|mi|cr|ssd|lncc|mind"),
       "as fluidreg and ffdreg have it")  //
      ("levels", po::value(&o.levels)->value_name("N"),
       "of the pyramid at full resolution (default flow 4, ffd 3)")  //
      ("iterations", po::value(&o.iterations)->value_name("NxNxN"),
       "of a registration at full resolution, coarse to fine")                                //
      ("linear", shown(o.linear)->value_name("rigid|similarity|affine"), "what comes first")  //
      ("linear-search", shown(o.linear_search)->value_name("auto|gradient|powell"),
       "auto looks at every rotation; gradient trusts the headers to 20 degrees, for --transforms "
       "and --jacobians, too")  //
      ("statistic", shown(o.statistic)->value_name("mean|median|trimmed"),
       "of the subjects' intensities at a voxel")  //
      ("trim", po::value(&o.trim)->default_value(o.trim, "0.1")->value_name("SHARE"),
       "trimmed: left out at either end")  //
      ("shape-step", po::value(&o.shape_step)->default_value(1, "1")->value_name("SHARE"),
       "of the mean deformation by which a round moves the shape")  //
      ("sharpen", shown(o.sharpen)->value_name("none|unsharp"),
       "the template after every average; the report says so")  //
      ("interpolation", shown(o.interpolation)->value_name("linear|cubic"),
       "between the subjects' voxels")  //
      ("keep-going", po::bool_switch(&o.keep_going),
       "leave out subjects that fail, and subjects or labels that cannot be read");
  return scheme;
}

}  // namespace

bool parse_atlas_command(int argc, const char* const* argv, AtlasCommand& o,
                         po::variables_map& found) {
  po::options_description run("Running");
  run.add_options()  //
      ("dry-run", po::bool_switch(&o.dry_run),
       "read the subjects, say what is left to do, how much memory it takes and about how long, "
       "and "
       "do nothing")  //
      ("device", shown(o.device)->value_name("auto|cpu|cuda|cuda:N"),
       "where to compute; auto takes the first GPU, of several processes on a machine each its "
       "own")  //
      ("threads", shown(o.threads)->value_name("N"),
       "CPU threads, 0 for all; results do not depend on it")  //
      ("config", po::value(&o.config)->value_name("FILE"),
       "INI file of these options; flags win; paths in it start from the current folder")        //
      ("verbose,v", po::bool_switch(&o.verbose), "progress even when stderr is not a terminal")  //
      ("quiet,q", po::bool_switch(&o.quiet), "no progress and no warnings");
  add_help_options(run);
  po::options_description all;
  all.add(files_of_command(o)).add(scheme_of_command(o)).add(run);
  return parse_command_line(argc, argv, "atlas", {summary, example, everyday}, all, found);
}

AtlasOptions atlas_options(const AtlasCommand& o) {
  require(!o.images.empty(), "name the subjects with -i LIST.tsv or -i IMAGE IMAGE ...");
  require_prefix(o.output);
  require_threads(o.threads);
  AtlasOptions options;
  const auto set_levels = [&](LevelOptions& model) {
    model.iterations = parse_iterations(o.iterations);
    if (o.levels > 0) model.levels = o.levels;
    CommonOptions common;
    common.similarity = o.similarity;
    require(parse_similarity_sum(o.similarity).has_value(),
            "--similarity '" + o.similarity + "' is not one of auto, nmi, mi, cr, ssd, lncc, mind");
    model.similarity = similarity_choice(common);
  };
  FlowOptions flow;
  FfdOptions ffd;
  set_levels(flow);
  set_levels(ffd);
  flow.symmetric = o.symmetric;
  require(o.model == "flow" || o.model == "ffd",
          "--model '" + o.model + "' is not one of flow, ffd");
  require(!o.symmetric || o.model == "flow", "--symmetric goes with --model flow");
  if (o.model == "flow")
    options.model = flow;
  else
    options.model = ffd;
  options.linear =
      chosen(parse_linear_model(o.linear), "linear", o.linear, "rigid, similarity, affine");
  options.search = chosen(parse_linear_search(o.linear_search), "linear-search", o.linear_search,
                          "auto, gradient, powell, hill, flirt");
  options.rounds = parse_rounds(o.rounds);
  options.enough_voxels = o.enough;
  options.shape_step = o.shape_step;
  options.statistic =
      chosen(parse_atlas_statistic(o.statistic), "statistic", o.statistic, "mean, median, trimmed");
  options.trim = o.trim;
  require(o.sharpen == "none" || o.sharpen == "unsharp",
          "--sharpen '" + o.sharpen + "' is not one of none, unsharp");
  options.sharpening = o.sharpen == "unsharp" ? 0.5 : 0;
  options.interpolation = parse_interpolation(o.interpolation);
  options.keep_going = o.keep_going;
  options.validate();
  return options;
}

std::string made_by(const AtlasCommand& o) {
  return std::string("atlas " FREEFLOW_VERSION) + " model " + o.model +
         (o.symmetric ? " symmetric " : " ") + o.similarity + " levels " +
         std::to_string(o.levels) + " iterations " + o.iterations;
}

}  // namespace freeflow::apps
