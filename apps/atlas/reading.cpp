#include <apps/atlas/reading.h>

#include <atomic>
#include <exception>
#include <thread>

#include <apps/intensities.h>
#include <apps/program.h>
#include <freeflow/core/error.h>
#include <freeflow/io/image_file.h>

namespace freeflow::apps {

namespace {

void require_grid(const std::string& file, const Geometry& grid, const std::string& image,
                  const Geometry& image_grid) {
  require(same_grid(grid, image_grid),
          "'" + file + "' lies on another grid than '" + image +
              "' of the same subject; resample it first: regtool apply -i " + file + " -r " +
              image + " --interpolation labels -o FILE");
}

}  // namespace

AtlasSubject read_subject(const ListedSubject& listed, std::vector<std::string>& warnings) {
  AtlasSubject subject;
  subject.name = listed.name;
  const std::string& first = listed.channels[0];
  for (const std::string& file : listed.channels) {
    HostImage image = read_image(file);
    if (subject.channels.empty()) subject.geometry = image.geometry;
    require_grid(file, image.geometry, first, subject.geometry);
    prepare_intensities(image, {.background = find_padding(image), .cut_out = is_cut_out(image)});
    warnings.insert(warnings.end(), image.warnings.begin(), image.warnings.end());
    subject.channels.push_back(std::move(image.voxels));
  }
  if (!listed.mask.empty()) {
    HostImage mask = read_image(listed.mask);
    require_grid(listed.mask, mask.geometry, first, subject.geometry);
    subject.mask = std::move(mask.voxels);
  }
  if (!listed.labels.empty())
    require_grid(listed.labels, read_geometry(listed.labels), first, subject.geometry);
  return subject;
}

ReadSubjects read_subjects(const std::vector<ListedSubject>& listed, bool keep_going, int threads) {
  const std::size_t n = listed.size();
  std::vector<AtlasSubject> read(n);
  std::vector<std::vector<std::string>> warnings(n);
  std::vector<std::exception_ptr> failures(n);
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> readers;
    for (int t = 0; t < std::max(1, std::min(threads, int(n))); ++t)
      readers.emplace_back([&] {
        for (std::size_t i = next++; i < n && !interrupt_requested(); i = next++) try {
            read[i] = read_subject(listed[i], warnings[i]);
          } catch (...) {
            failures[i] = std::current_exception();
          }
      });
  }
  stop_if_interrupted();
  ReadSubjects result;
  for (std::size_t i = 0; i < n; ++i) {
    try {
      if (failures[i]) std::rethrow_exception(failures[i]);
      result.subjects.push_back(std::move(read[i]));
      result.listed.push_back(listed[i]);
    } catch (const std::runtime_error& e) {
      if (!keep_going) throw;
      warnings[i].push_back("subject '" + listed[i].name + "' is left out: " + e.what());
    }
    result.warnings.insert(result.warnings.end(), warnings[i].begin(), warnings[i].end());
  }
  return result;
}

}  // namespace freeflow::apps
