// The inputs of a registration program: images, masks and the start, read and checked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <apps/options.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/registration/register_images.h>

namespace freeflow::apps {

/// An image, or one channel of it.
struct InputImage {
  std::string file;
  HostImage voxels;
  IntensityOptions intensities;
};

struct Inputs {
  std::vector<InputImage> fixed, moving;             ///< channels: as many, each side on one grid
  std::vector<double> weights;                       ///< of the channels; they sum to 1
  std::optional<HostImage> fixed_mask, moving_mask;  ///< on the grids of their images
  std::vector<std::string> warnings;
  std::string kept_files;  ///< of the fixed side, with what they held, where they are kept

  /// Of the first channels, which stand for the images where one is asked for.
  const HostImage& fixed_image() const { return fixed.front().voxels; }
  const HostImage& moving_image() const { return moving.front().voxels; }
  /// For the prediction of memory.
  RegistrationInputs sizes() const;
};

class KeptImages;

/// Reads all files that the options name, the two images at the same time; fixed ones by way of
/// what is kept, where there is such. Throws IoError, and InvalidArgument for an empty mask and for
/// channels of different grids.
Inputs read_inputs(const CommonOptions& options, KeptImages* kept = nullptr);

/// The voxels as a registration takes them; nothing where those are as they came.
std::optional<HostImage> changed(const InputImage& image);

/// Flags (above 0.5) of the voxels that count: of those inside the mask what was measured. In `own`
/// where the mask alone does not say it; null where all count.
const std::vector<float>* counted(const InputImage& image, const std::optional<HostImage>& mask,
                                  std::vector<float>& own);

/// One of the two images on a device, as a registration is to see it: without padding, clipped.
class DeviceImage {
 public:
  /// `what` is for errors: "the fixed image"; it must outlive this.
  DeviceImage(Context& ctx, const std::vector<InputImage>& channels,
              const std::optional<HostImage>& mask, const char* what);

  /// With the levels that registrations made of it.
  PreparedImage& prepared() { return prepared_; }
  /// After the last registration.
  void free_levels() { prepared_.release(); }
  /// The channels as they came, for what is written; `channels` are those of the constructor.
  /// Refers to this; before free_levels().
  std::vector<Volume<float>> as_they_came(Context& ctx,
                                          const std::vector<InputImage>& channels) const;

 private:
  PreparedImage prepared_;
};

/// Where to start from: "identity", "center" (the grids' middles meet), "moments" (the centres of
/// mass of the intensities above their minimum meet, of what counts as registrations see it), a
/// file of an affine, of a displacement or of both, or a displacement's file and an affine's; the
/// list has passed validate(). An affine that the displacement holds goes to the affine
/// (split_affine()). Adds to the inputs' warnings. Throws IoError, and InvalidArgument
/// for two files of which the first is no field.
FileTransform initial_transform(const std::vector<std::string>& init, Inputs& inputs);
/// The same where only a linear start is of use. Throws InvalidArgument for a displacement.
Eigen::Affine3d initial_affine(const std::vector<std::string>& init, Inputs& inputs);

/// Of what a linear registration changed its start by: a sentence where that turns the images by
/// more than a right angle, as mirrored data do.
std::optional<std::string> said_of_turn(const Eigen::Affine3d& change);
/// The same, as what joins the inputs' warnings.
std::vector<std::string> said_of_rotation(const Eigen::Affine3d& start,
                                          const Eigen::Affine3d& found, Inputs& inputs);

}  // namespace freeflow::apps
