// What regtool measure measures, each as a table to read and as JSON. The names in the JSON are
// those of the scores that the project is judged by, where they mean the same.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <apps/regtool/commands.h>
#include <freeflow/core/volume.h>

namespace freeflow::apps {

struct MeasureOptions {
  std::string fixed_labels, moving_labels, labels;
  std::string fixed_points, moving_points, frame = "lps", fixed, moving;
  std::string field, inverse, mask;
  std::vector<std::string> transforms;
  std::string output;
  bool per_point = false;
  RunOptions run;
};

struct Measured {
  std::string table;
  nlohmann::ordered_json json;
};

/// Each adds sentences for the user to `warnings`. They throw InvalidArgument and IoError with the
/// option or the file.
Measured measure_labels(Context& ctx, const MeasureOptions& o, const Transform& chain,
                        std::vector<std::string>& warnings);
Measured measure_landmarks(Context& ctx, const MeasureOptions& o, const Transform& chain,
                           std::vector<std::string>& warnings);
/// The --mask of a field; empty where there is none.
Volume<float> read_mask_of(Context& ctx, const MeasureOptions& o, const DisplacementField& u,
                           std::vector<std::string>& warnings);
Measured measure_field(Context& ctx, const MeasureOptions& o, const DisplacementField& u,
                       const Volume<float>& mask);
Measured measure_inverse(Context& ctx, const MeasureOptions& o, const DisplacementField& u,
                         const Volume<float>& mask, std::vector<std::string>& warnings);

/// The one field of a file that `option` names. Throws InvalidArgument when it holds none, or an
/// affine too, IoError when it cannot be read.
DisplacementField read_field(Context& ctx, const std::string& option, const std::string& path,
                             std::vector<std::string>& warnings);

/// What printf would print, up to 400 characters.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);
/// A figure of a table; "-" where there is none.
std::string cell(int width, int digits, double value);
void add_all(std::vector<std::string>& to, const std::vector<std::string>& more);

}  // namespace freeflow::apps
