#include <apps/help.h>
#include <apps/options.h>

namespace po = boost::program_options;

namespace freeflow::apps {

namespace {

auto text_value(std::string& value) { return po::value(&value)->default_value(value, value); }
auto number_value(int& value) { return po::value(&value)->default_value(value); }

po::options_description files_options(CommonOptions& v) {
  po::options_description files("Files");
  files.add_options()  //
      ("fixed,f", po::value(&v.fixed)->value_name("FILE"),
       "image that stays (NIfTI, MetaImage, NRRD, MGZ); channels: -f T1.nii.gz -f T2.nii.gz, "
       "each compared with the -m of the same place")  //
      ("moving,m", po::value(&v.moving)->value_name("FILE"),
       "image that is aligned to it; its channels, like the fixed ones, lie on one grid")  //
      ("channel-weights", po::value(&v.channel_weights)->multitoken()->value_name("W W ..."),
       "how much each channel counts, in proportion, such as 1 0.5; without it all count the "
       "same")  //
      ("output,o", prefix_value(v.output),
       "start of the output names; missing folders are made")  //
      ("pairs", po::value(&v.pairs)->value_name("FILE.tsv"),
       "a table of pairs instead of -f, -m, -o: columns fixed, moving, output and, where wanted, "
       "fixed_mask, moving_mask, init (init2: the affine after a field), paths relative to it; "
       "what "
       "is done and made of the same contents and options is left as it is")(
          "summary", po::value(&v.summary)->value_name("FILE.tsv"),
          "with --pairs: how each of them ended")(
          "jobs", po::value(&v.jobs)->default_value(v.jobs, "automatic")->value_name("N"),
          "with --pairs: how many are registered at a time, where there is memory for them; "
          "automatic: 6 by a GPU (1 with --verbose), 1 by a CPU")  //
      ("bids", po::value(&v.bids)->value_name("FROM:TO"),
       "outputs named as BIDS derivatives, each direction one file: PREFIX and after it "
       "_from-FROM_to-TO_mode-image_xfm; FROM is the moving image's space, TO the fixed one's")  //
      ("fixed-mask", po::value(&v.fixed_mask)->value_name("FILE"),
       "only fixed voxels above 0.5 here count")  //
      ("moving-mask", po::value(&v.moving_mask)->value_name("FILE"),
       "only moving voxels above 0.5 here count")  //
      ("background", po::value(&v.background)->value_name("V"),
       "voxels of this value count as not measured, in both images; padding far below all else is "
       "found by itself; nan: NaN around an object is not its background either")  //
      ("clip", po::value(&v.clip)->value_name("LOW,HIGH"),
       "intensities beyond are cut to these while registering, such as -1000,400 HU; the warped "
       "images keep theirs");
  return files;
}

po::options_description start_options(CommonOptions& v) {
  po::options_description start("Start");
  start.add_options()  //
      ("init",
       po::value(&v.init)
           ->default_value(v.init, "identity")
           ->value_name("FILE|moments|center|identity"),
       "where to start: an ITK transform (.mat, .tfm, .txt, .h5; fixed to moving), centres of "
       "mass, or centres of the grids; ffdreg and "
       "fluidreg also take a displacement field, or both as antsApplyTransforms lists them (--init "
       "1Warp.nii.gz --init "
       "0GenericAffine.mat; --levels 1 keeps their detail)")  //
      ("linear", text_value(v.linear)->value_name("none|rigid|similarity|affine"),
       "linear stage before the nonrigid one, from any starting rotation; none: start as --init "
       "says, which is all there is after a "
       "displacement")  //
      ("start", text_value(v.start)->value_name("auto|discrete|none"),
       "start of the nonrigid stage: discrete searches displacements up to 15 % of the image on a "
       "coarse grid; auto takes what that finds where the motion is large and the images match "
       "clearly better for it (the report says)");
  return start;
}

po::options_description matching_options(CommonOptions& v) {
  po::options_description matching("Matching");
  matching.add_options()  //
      ("similarity,s", text_value(v.similarity)->value_name("auto|nmi|mi|cr|ssd|lncc|mind"),
       "auto: lncc+0.3nmi, +4mind but on the finest level and in small images, nmi in the "
       "linear stage before a deformation; nmi, mi: any modalities; cr: one intensity "
       "follows from the other; lncc: one modality, any "
       "shading; mind: any modalities, any shading; ssd: same modality and scale; or a sum such as "
       "lncc+0.3nmi or lncc+mind")("bins", number_value(v.bins)->value_name("N"),
                                   "histogram bins per axis (nmi, mi, cr), 16 to 256")(
          "estimator",
          text_value(v.estimator)->value_name("parzen|parzen_both|partial_volume|hard"),
          "estimate of the joint density (nmi, mi)")(
          "lncc-radius", number_value(v.lncc_radius)->value_name("N"),
          "radius of the window of lncc in voxels of the level, 1 to 64")(
          "mind-radius", number_value(v.mind_radius)->value_name("N"),
          "radius of the patches of mind in voxels of the level, 1 to 16")(
          "mind-dilation", number_value(v.mind_dilation)->value_name("N"),
          "distance of the neighbours of mind in voxels of the level, 1 to 16")(
          "histogram-scheme", text_value(v.histogram_scheme)->value_name("NAME"),
          "how the GPU counts for nmi and mi (--list-schemes)")(
          "ratio-scheme", text_value(v.ratio_scheme)->value_name("NAME"),
          "how the GPU sums for cr (--list-schemes)")(
          "cr-of-fixed", po::bool_switch(&v.cr_of_fixed),
          "cr: how far the moving image explains the fixed one, not the reverse")(
          "cr-border", po::value(&v.cr_border)->default_value(v.cr_border)->value_name("MM"),
          "cr: width over which voxels at the moving image's border count less; 0 for none")(
          "levels", number_value(v.levels)->value_name("N"),
          "levels of the image pyramid; where it is not given, ffdreg and "
          "fluidreg leave out those of few voxels")  //
      ("iterations", po::value(&v.iterations)->value_name("NxNxN"),
       "at most so many iterations, coarse to fine: one value or one per level, none of which is "
       "then left out for its few voxels; the default depends on the program");
  return matching;
}

po::options_description outputs_options(CommonOptions& v) {
  po::options_description outputs("Outputs");
  outputs.add_options()  //
      ("interpolation", text_value(v.interpolation)->value_name("linear|cubic"),
       "for the warped images")  //
      ("outputs",
       text_value(v.outputs)->value_name("all|warp,inverse,warped,inversewarped,report,lattice"),
       "what is written beside the affine; what nothing asks for is not computed. warp, inverse: "
       "fields, which linreg has none of; lattice, which all leaves out: ffdreg's control points "
       "as ITK's B-spline, a twentieth of a field's bytes")(
          "report", text_value(v.report)->value_name("json|html|both"),
          "the report's form: PREFIXreport.json, or a page to look at, PREFIXreport.html, or both; "
          "regtool report makes the page later")(
          "field-factor", number_value(v.field_factor)->value_name("N"),
          "2 writes the displacement fields on every second voxel of each axis: an eighth of the "
          "bytes, for results that would fill a disk")(
          "compress", number_value(v.compress)->value_name("0..9"),
          "0 writes .nii; 1 is fast to write and to read; more is smaller: fields by a tenth from "
          "2, label-like images from 6, which takes many times as long");
  return outputs;
}

po::options_description running_options(CommonOptions& v) {
  po::options_description running("Running");
  running.add_options()  //
      ("device", text_value(v.device)->value_name("auto|cpu|cuda|cuda:N|cuda:N-M"),
       "where to compute; auto takes the first GPU, cuda:0-3 four that share memory and work, for "
       "images that one cannot hold, cuda:all all")  //
      ("threads", number_value(v.threads)->value_name("N"),
       "CPU threads, 0 for all; results do not depend on it")  //
      ("config", po::value(&v.config)->value_name("FILE"),
       "INI file of these options; flags win; paths in it start from the current folder")        //
      ("list-schemes", "print the histogram and ratio schemes")                                  //
      ("verbose,v", po::bool_switch(&v.verbose), "progress even when stderr is not a terminal")  //
      ("quiet,q", po::bool_switch(&v.quiet), "no progress and no warnings");
  add_help_options(running);
  return running;
}

}  // namespace

po::options_description common_options(CommonOptions& v) {
  po::options_description all;
  all.add(files_options(v)).add(start_options(v)).add(matching_options(v));
  all.add(outputs_options(v)).add(running_options(v));
  return all;
}

}  // namespace freeflow::apps
