// The outputs of a registration program, written beside the work that makes them.
#pragma once

#include <string>
#include <vector>

#include <apps/file_writer.h>
#include <apps/images.h>
#include <apps/output_names.h>
#include <freeflow/io/compression.h>
#include <freeflow/registration/registration_result.h>

namespace freeflow::apps {

/// Every factor-th voxel of each axis, of which --field-factor writes fields; one beyond the last,
/// where that is none of them, so that the whole grid stays inside.
Geometry thinned(Geometry grid, int factor);

/// What goes into an output set, without committing it. Names are what follows the prefix.
class ResultFiles {
 public:
  /// `outputs` must outlive it. field_factor: fields are written on every field_factor-th voxel of
  /// each axis.
  ResultFiles(const Outputs& outputs, const Compression& compression, int field_factor = 1)
      : outputs_(outputs), compression_(compression), field_factor_(field_factor) {}

  /// Nothing where the name is empty. Waits for the device, not for the disk. Throws as FileWriter
  /// does.
  void add_field(Context& ctx, const std::string& name, const DisplacementField& field);
  void add_image(Context& ctx, const std::string& name, const Volume<float>& image);
  void add_lattice(Context& ctx, const std::string& name, const ControlPointGrid& lattice);
  /// One file for each direction, as --bids names them.
  void add_whole(Context& ctx, const RegistrationResult& result);
  /// Waits for all files, until they are on the disk. Throws IoError.
  void finish() { writer_.finish(); }

  const Outputs& outputs() const { return outputs_; }

 private:
  DisplacementField as_written(Context& ctx, const DisplacementField& field) const;
  template <class Write>
  void add(const std::string& name, Write write);

  const Outputs& outputs_;
  Compression compression_;
  int field_factor_;
  FileWriter writer_;
};

/// The displacement, where it has a file of its own; called as soon as it is known.
void write_displacement_of(Context& ctx, ResultFiles& files, const DisplacementField& field);

/// The images as they came, which are warped, outside by their smallest value.
struct WarpedImages {
  const std::vector<Volume<float>>&fixed, &moving;  ///< channels
  const Inputs& inputs;
  Interpolation interpolation;
};

/// Writes the other transforms and the warped images that have a name, those of every channel;
/// `result` has its inverse where one of them needs it.
void write_results(Context& ctx, ResultFiles& files, const WarpedImages& images,
                   const RegistrationResult& result);

/// The same of a linear registration.
void write_linear_results(Context& ctx, ResultFiles& files, const WarpedImages& images,
                          const LinearResult& result);

}  // namespace freeflow::apps
