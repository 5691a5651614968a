#include <freeflow/io/registration_files.h>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

namespace freeflow {

Volume<float> read_volume(Context& ctx, const std::string& path) {
  return to_volume(ctx, read_image(path));
}

void write_transform(Context& ctx, const std::string& prefix, const Eigen::Affine3d& affine,
                     const DisplacementField& displacement) {
  write_affine(prefix + "0GenericAffine.mat", affine, displacement.geometry().center());
  write_displacement(ctx, prefix + "1Warp.nii.gz", displacement);
}

}  // namespace freeflow
