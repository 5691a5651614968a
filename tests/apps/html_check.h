// Whether a page is whole: every tag is closed by its own, nothing is loaded from elsewhere, and
// it is no larger than a page may be.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace freeflow::test {

/// Names of the tags that are still open at the end, or of the one that was closed out of turn.
inline std::string unbalanced_tags(const std::string& html) {
  const std::vector<std::string> alone = {"!doctype", "meta", "link", "br", "img"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return "a tag that does not end";
    const std::string tag = html.substr(at + 1, end - at - 1);
    std::string name = tag.substr(0, tag.find_first_of(" \n/", 1));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool empty = tag.ends_with("/") || std::ranges::count(alone, name) > 0;
    if (tag.starts_with("/")) {
      if (open.empty() || "/" + open.back() != tag) return "out of turn: " + tag;
      open.pop_back();
    } else if (!empty) {
      open.push_back(name);
    }
  }
  std::string left;
  for (const std::string& name : open) left.append(name).append(" ");
  return left;
}

inline void expect_whole_page(const std::string& html) {
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_LT(html.size(), std::size_t(1'500'000));
  EXPECT_EQ(unbalanced_tags(html), "");
  for (const char* outside :
       {"http:", "https:", "src=", "@import", "<script", "url(/", "url(\"", "NaN", "nan\"", ">inf"})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  for (std::size_t at = html.find("url("); at != std::string::npos; at = html.find("url(", at + 1))
    ASSERT_EQ(html.compare(at, 27, "url(data:image/png;base64,i", 27), 0) << html.substr(at, 60);
}

}  // namespace freeflow::test
