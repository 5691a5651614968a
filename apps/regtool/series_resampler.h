// Images of any number of volumes and components through a chain of transforms, from file to file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <apps/file_writer.h>
#include <freeflow/core/context.h>
#include <freeflow/io/series_file.h>
#include <freeflow/transform/resample.h>

namespace freeflow::apps {

struct ResampleOptions {
  std::string interpolation = "linear";  ///< linear, nearest, cubic or labels
  std::optional<StoredType> type;        ///< of the output; the input's else
  /// Where the image has no value; nothing: each volume's smallest one.
  std::optional<double> fill = 0;
  bool fill_is_chosen = false;  ///< or what it is by default, which CT may not want
};

/// A scalar volume at a time, so that memory holds a few of them whatever the length of a series.
/// Volumes of one grid share the positions that the chain leads to.
class SeriesResampler {
 public:
  /// Refers to all of them; chain is on the device of ctx, `files` writes in order.
  SeriesResampler(Context& ctx, const ResampleOptions& o, const Transform& chain,
                  const Geometry& grid, FileWriter& files)
      : ctx_(ctx), o_(o), chain_(chain), grid_(grid), files_(files) {}

  /// Allocates what a volume of such a series takes, for a rehearsal.
  void rehearse(const SeriesLayout& in);

  /// `reader` is of the file `from`. The file is complete once `files` has finished. Adds sentences
  /// for the user. Throws IoError, InvalidArgument, Cancelled.
  void run(SeriesReader& reader, const std::string& from, const std::string& to,
           std::vector<std::string>& warnings);

 private:
  void place(const SeriesLayout& in);
  void doubt_fill(float smallest, const SeriesLayout& out);
  void count_lost_digits(const unsigned char* stored, const SeriesLayout& in,
                         const std::vector<float>& values);
  Volume<float> interpolated(const Volume<float>& volume, float fill);
  SeriesLayout output_of(const SeriesLayout& in) const;
  std::vector<unsigned char> resampled(const std::vector<unsigned char>& planes,
                                       const SeriesLayout& in, const SeriesLayout& out);
  std::vector<unsigned char> label_plane(const unsigned char* stored, const SeriesLayout& in,
                                         const SeriesLayout& out);
  std::vector<unsigned char> image_plane(const unsigned char* stored, const SeriesLayout& in,
                                         const SeriesLayout& out);

  Context& ctx_;
  const ResampleOptions& o_;
  const Transform& chain_;
  const Geometry& grid_;
  FileWriter& files_;
  std::optional<SamplingMap> map_;
  std::string from_, to_;
  bool as_labels_ = false, may_hold_labels_ = false, mixes_labels_ = false;
  std::string doubt_of_fill_;
  std::size_t nonfinite_ = 0, beyond_ = 0;
  double lost_ = 0;  // of a value, where that is visible
};

}  // namespace freeflow::apps
