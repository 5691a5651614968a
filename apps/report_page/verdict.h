// What the figures of a report say in words, and what to look at.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace freeflow::apps {

enum class Grade {
  good,  ///< nothing speaks against it
  look,  ///< look at it before using it
  bad    ///< not to be used as it is
};
const char* word_of(Grade grade);  ///< "good", "look", "bad"

struct Finding {
  Grade grade = Grade::good;
  std::string text;  ///< a sentence, with what to look at where the grade is not good
};

struct Verdict {
  Grade grade = Grade::good;  ///< the worst of the findings'
  std::string sentence;
  std::vector<Finding> findings;
};

/// By the figures of report.json, of which any may be missing. Limits: overlap below 0.5 of
/// what the moving image or its mask has room for is bad, below 0.8 or a third less than before to
/// be looked at; a similarity that fell is bad, one that rose by less than 0.002, that the affine
/// alone had more of, or of which a start from a file leaves the affine less than the files have as
/// they lie, to be looked at; a fold is bad; a standard deviation of the log-Jacobian above 0.5, a
/// mean inverse residual above 0.1 voxel, a displacement above a quarter of the image's longest
/// side or below a hundredth of a voxel, and any warning are to be looked at.
Verdict verdict_of(const nlohmann::ordered_json& report);

/// What a report opens with.
nlohmann::ordered_json summary_json(const Verdict& verdict);

}  // namespace freeflow::apps
