// Tables of files (TSV): pairs, and the subjects of a template.
#include "support.h"

#include <apps/atlas/subject_list.h>
#include <apps/table.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.tsv", bytes, count);
  fuzz::reads([&] {
    for (const apps::TableRow& row :
         apps::read_table(path, {{"fixed", "moving", "output"}, {"fixed_mask", "init"}}))
      fuzz::expect(row.cells.contains("fixed") && !row.cells.at("output").empty(),
                   "a row has what is required");
  });
  fuzz::reads([&] {
    for (const apps::ListedSubject& subject : apps::list_subjects({path}, {}, {}))
      fuzz::expect(!subject.channels.empty() && !subject.channels[0].empty(),
                   "a subject has an image");
  });
  return 0;
}
