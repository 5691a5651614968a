// PREFIXreport.html: a registration as a person judges it, in one file that loads nothing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <apps/report_page/pictures.h>

namespace freeflow::apps {

/// The page of what report.json holds; docs/report.md says what its parts show. `name` is its
/// title, such as the prefix. Its verdict is the report's summary, or made of the report's figures
/// where an older program wrote none.
std::string registration_page(const std::string& name, const nlohmann::ordered_json& report,
                              const PagePictures& pictures);

/// Opens a page that ends with "</body></html>".
std::string page_head(const std::string& title, const std::string& more_style = {});

}  // namespace freeflow::apps
