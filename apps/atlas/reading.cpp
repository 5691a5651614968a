#include <apps/atlas/reading.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include <apps/image_sizes.h>
#include <apps/intensities.h>
#include <apps/program.h>
#include <apps/shell_word.h>
#include <freeflow/core/error.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/label_file.h>

namespace freeflow::apps {

namespace {

/// resampling: an option of regtool apply, for what is no image.
void require_grid(const std::string& file, const Geometry& grid, const std::string& image,
                  const Geometry& image_grid, const std::string& resampling) {
  require(same_grid(grid, image_grid),
          "'" + file + "' lies on another grid than '" + image +
              "' of the same subject; resample it first: regtool apply -i " + shell_word(file) +
              " -r " + shell_word(image) + resampling + " -o FILE");
}

/// Before the work rather than after it, when they are carried.
void check_labels(const ListedSubject& listed, const Geometry& grid,
                  std::vector<std::string>& warnings) {
  if (listed.labels.empty()) return;
  const HostLabels labels = read_labels(listed.labels);
  warnings.insert(warnings.end(), labels.warnings.begin(), labels.warnings.end());
  require_grid(listed.labels, labels.geometry, listed.channels[0], grid, " --interpolation labels");
}

template <class Work>
std::exception_ptr failure_of(const Work& work) {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return {};
}

}  // namespace

AtlasSubject read_subject(const ListedSubject& listed, std::vector<std::string>& warnings) {
  AtlasSubject subject;
  subject.name = listed.name;
  const std::string& first = listed.channels[0];
  for (const std::string& file : listed.channels) {
    HostImage image = read_image(file);
    if (subject.channels.empty()) subject.geometry = image.geometry;
    require_grid(file, image.geometry, first, subject.geometry, "");
    warnings.insert(warnings.end(), image.warnings.begin(), image.warnings.end());
    const IntensityOptions found{.background = find_padding(image), .cut_out = is_cut_out(image)};
    if (found.background) warnings.push_back(said_of_padding(file, *found.background));
    if (found.cut_out) warnings.push_back(said_of_cut_out(file));
    prepare_intensities(image, found);
    subject.channels.push_back(std::move(image.voxels));
  }
  if (!listed.mask.empty()) {
    HostImage mask = read_image(listed.mask);
    warnings.insert(warnings.end(), mask.warnings.begin(), mask.warnings.end());
    require_grid(listed.mask, mask.geometry, first, subject.geometry, " --interpolation labels");
    require(std::ranges::any_of(mask.voxels, [](float v) { return v > 0.5F; }),
            "the mask '" + listed.mask + "' has no voxel above 0.5");
    subject.mask = std::move(mask.voxels);
  }
  return subject;
}

std::vector<std::string> said_of_subject_sizes(const std::vector<ListedSubject>& listed) {
  struct Sized {
    std::string file;
    Geometry grid;
  };
  std::vector<Sized> sized;
  for (const ListedSubject& subject : listed) try {
      sized.push_back({subject.channels[0], read_geometry(subject.channels[0])});
    } catch (const std::runtime_error&) {  // reading says why, or has left it out
    }
  if (sized.empty()) return {};
  std::vector<Sized> ordered = sized;
  const auto middle = ordered.begin() + std::ptrdiff_t(ordered.size() / 2);
  std::ranges::nth_element(ordered, middle, {},
                           [](const Sized& s) { return longest_side_mm(s.grid); });
  std::vector<std::string> said;
  for (const Sized& s : sized)
    if (const auto sentence = said_of_sizes(s.file, s.grid, middle->file, middle->grid))
      said.push_back(*sentence);
  return said;
}

ReadSubjects read_subjects(const std::vector<ListedSubject>& listed, bool keep_going, int threads) {
  const std::size_t n = listed.size();
  std::vector<AtlasSubject> read(n);
  std::vector<std::vector<std::string>> warnings(n);
  std::vector<std::exception_ptr> failures(n), failures_of_labels(n);
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> readers;
    for (int t = 0; t < std::max(1, std::min(threads, int(n))); ++t)
      readers.emplace_back([&] {
        for (std::size_t i = next++; i < n && !interrupt_requested(); i = next++) {
          failures[i] = failure_of([&] { read[i] = read_subject(listed[i], warnings[i]); });
          if (!failures[i])
            failures_of_labels[i] =
                failure_of([&] { check_labels(listed[i], read[i].geometry, warnings[i]); });
        }
      });
  }
  stop_if_interrupted();
  ReadSubjects result;
  for (std::size_t i = 0; i < n; ++i) {
    const auto said_of = [&](const std::exception_ptr& failure, const std::string& begin) {
      try {
        std::rethrow_exception(failure);
      } catch (const std::runtime_error& e) {
        if (!keep_going) throw;
        warnings[i].push_back(begin + e.what());
      }
    };
    if (failures[i]) {
      said_of(failures[i], "subject '" + listed[i].name + "' is left out: ");
    } else {
      result.subjects.push_back(std::move(read[i]));
      result.listed.push_back(listed[i]);
    }
    if (failures_of_labels[i]) {
      said_of(failures_of_labels[i],
              "the labels of subject '" + listed[i].name + "' are left out: ");
      result.listed.back().labels.clear();
    }
    result.warnings.insert(result.warnings.end(), warnings[i].begin(), warnings[i].end());
  }
  return result;
}

}  // namespace freeflow::apps
