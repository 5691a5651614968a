#include <freeflow/atlas/intensities.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/error.h>

namespace freeflow {

namespace {

constexpr double low_percentile = 0.001, foreground_share = 0.125;

bool counts(const std::vector<float>& mask, std::size_t i) {
  return mask.empty() || mask[i] > 0.5f;
}

/// The foreground's mean above `low`; 0 where there is none.
double foreground_mean(const std::vector<float>& voxels, const std::vector<float>& mask,
                       double low) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < voxels.size(); ++i)
    if (counts(mask, i) && std::isfinite(voxels[i])) sum += double(voxels[i]) - low, ++count;
  if (!mask.empty() || count == 0) return count > 0 ? sum / count : 0;
  const double threshold = foreground_share * sum / count;
  sum = count = 0;
  for (const float v : voxels)
    if (std::isfinite(v) && double(v) - low > threshold) sum += double(v) - low, ++count;
  return count > 0 ? sum / count : 0;
}

void normalise(std::vector<float>& voxels, const std::vector<float>& mask,
               const std::string& called) {
  std::vector<float> finite;
  finite.reserve(voxels.size());
  for (const float v : voxels)
    if (std::isfinite(v)) finite.push_back(v);
  if (finite.empty()) throw RegistrationError(called + " has no finite voxel");
  const auto at = finite.begin() + std::ptrdiff_t(low_percentile * double(finite.size()));
  std::nth_element(finite.begin(), at, finite.end());
  const double low = *at, mean = foreground_mean(voxels, mask, low);
  if (!(mean > 0))
    throw RegistrationError(called + " has one intensity alone: nothing can be registered to it");
  const double factor = usual_intensity / mean;
  for (float& v : voxels)
    v = std::isfinite(v)
            ? std::clamp(float((double(v) - low) * factor), lowest_intensity, highest_intensity)
            : NAN;
}

}  // namespace

void normalise_intensities(AtlasSubject& subject, const std::string& called) {
  for (std::vector<float>& channel : subject.channels) normalise(channel, subject.mask, called);
}

ObjectMoments object_moments(const AtlasSubject& subject) {
  const std::vector<float>& voxels = subject.channels.front();
  const Extent n = subject.geometry.extent;
  Eigen::Vector3d first = Eigen::Vector3d::Zero(), second = first;  // in voxels
  double mass = 0;
  std::size_t i = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x, ++i) {
        const float v = voxels[i];
        if (!(v > foreground_share * usual_intensity) || !counts(subject.mask, i)) continue;
        const Eigen::Vector3d p(x, y, z);
        mass += v;
        first += v * p;
        second += v * p.cwiseProduct(p);
      }
  if (!(mass > 0))
    throw RegistrationError("subject '" + subject.name + "' has nothing in its foreground");
  const Eigen::Vector3d mean = first / mass, variance = second / mass - mean.cwiseProduct(mean),
                        sides = subject.geometry.spacing;
  const double trace = variance.dot(sides.cwiseProduct(sides));
  return {subject.geometry.index_to_world() * mean, std::sqrt(5.0 / 3.0 * std::max(0.0, trace))};
}

ContentKey content_of_grid(const Geometry& g) {
  std::vector<double> frame{double(g.extent.x), double(g.extent.y), double(g.extent.z)};
  for (int i = 0; i < 3; ++i) {
    frame.insert(frame.end(), {g.spacing[i], g.origin[i]});
    for (int j = 0; j < 3; ++j) frame.push_back(g.direction(i, j));
  }
  return content_key(std::span<const double>(frame));
}

ContentKey content_of(const AtlasSubject& subject) {
  ContentKey key = content_of_grid(subject.geometry);
  for (const std::vector<float>& channel : subject.channels)
    key = derived_key("channel", {key, content_key(std::span<const float>(channel))});
  return derived_key("mask", {key, content_key(std::span<const float>(subject.mask))});
}

}  // namespace freeflow
