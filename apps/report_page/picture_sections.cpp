#include <apps/report_page/picture_sections.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <sstream>

#include <apps/html.h>

namespace freeflow::apps {

namespace {

std::string hex(const Rgb& c) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", c[0], c[1], c[2]);
  return text;
}

std::string gradient(const std::function<Rgb(double)>& colour) {
  std::string css = "linear-gradient(90deg";
  for (int i = -8; i <= 8; ++i) css.append(",").append(hex(colour(i / 8.0)));
  return css + ")";
}

/// Class of the fixed ("f") or warped ("w") picture of a plane.
std::string shared(const char* which, std::size_t plane) {
  return std::string(which).append(std::to_string(plane));
}

struct Layer {
  std::string classes;  ///< of the plane's picture
  std::string inside;   ///< HTML
  std::string url;      ///< of a picture that no other section shows
};

/// The three planes side by side in one scale, at most 26 rem high.
std::string row(const PagePictures& pictures, const std::string& classes, const char* what,
                const std::function<Layer(std::size_t)>& layer) {
  double width = 0, height = 0;
  for (const PlanePictures& p : pictures.planes) {
    width += p.width_mm;
    height = std::max(height, p.height_mm);
  }
  std::string html = "<div class=\"row" + classes +
                     "\" style=\"max-width:" + fixed_digits(26 * width / height, 1) + "rem\"";
  if (classes == " flicker") html += " tabindex=\"0\"";
  html += ">\n";
  for (std::size_t i = 0; i < 3; ++i) {
    const PlanePictures& p = pictures.planes[i];
    const Layer l = layer(i);
    html += "<div class=\"pic " + l.classes + "\" role=\"img\" aria-label=\"" + what + ", " +
            p.name + "\" style=\"flex:" + fixed_digits(1000 * p.width_mm / width, 2) +
            " 1 0;aspect-ratio:" + fixed_digits(p.width_mm / height, 6) + "/" +
            fixed_digits(p.height_mm / height, 6);
    if (!l.url.empty()) html += ";background-image:url(" + l.url + ")";
    html += "\">" + l.inside + "</div>\n";
  }
  return html + "</div>\n";
}

std::string differences(const PagePictures& pictures) {
  struct Stage {
    const char* name;
    std::string PlanePictures::*picture;
  };
  std::string html;
  for (const Stage& stage : {Stage{"before", &PlanePictures::difference_before},
                             Stage{"after the affine", &PlanePictures::difference_affine},
                             Stage{"after", &PlanePictures::difference_after}}) {
    if ((pictures.planes[0].*stage.picture).empty()) continue;
    html += std::string("<figcaption>") + stage.name + "</figcaption>" +
            row(pictures, "", "difference", [&](std::size_t i) {
              return Layer{"", "", pictures.planes[i].*stage.picture};
            });
  }
  return html;
}

}  // namespace

std::string picture_style(const PagePictures& pictures) {
  std::ostringstream css;
  for (std::size_t i = 0; i < 3; ++i)
    css << '.' << shared("f", i) << "{background-image:url(" << pictures.planes[i].fixed << ")}\n."
        << shared("w", i) << ",.pic>." << shared("w", i) << "{background-image:url("
        << pictures.planes[i].warped << ")}\n";
  return css.str();
}

std::string image_sections(const PagePictures& pictures) {
  const auto layers = [](const char* below, const char* over) {
    return [below, over](std::size_t i) {
      return Layer{shared(below, i), "<i class=\"" + shared("w", i) + " " + over + "\"></i>", ""};
    };
  };
  return "<h2>Fixed and warped</h2>\n<p class=\"soft\">Hover, tap or tab to it: the warped image "
         "comes and goes over the fixed one. What jumps is not aligned. The patient's left is on "
         "the right.</p>\n" +
         row(pictures, " flicker", "fixed image, and the warped one over it", layers("f", "over")) +
         "<h2>Edges of the fixed image over the warped one</h2>\n<p class=\"soft\">The lines "
         "should "
         "follow the borders beneath them.</p>\n" +
         row(pictures, "", "warped image with the fixed one's edges",
             [&](std::size_t i) {
               return Layer{
                   shared("w", i),
                   "<i style=\"background-image:url(" + pictures.planes[i].edges + ")\"></i>", ""};
             }) +
         "<h2>Checkerboard</h2>\n<p class=\"soft\">Borders should go on from the fixed image's "
         "squares into the warped one's.</p>\n" +
         row(pictures, "", "squares of the fixed and the warped image", layers("f", "check")) +
         "<h2>Differences</h2>\n<p class=\"soft key\"><span>moving is brighter</span><b "
         "style=\"background:" +
         gradient(difference_colour) +
         "\"></b><span>fixed is brighter.</span> <span>Of images of one kind dark is good; of two "
         "kinds (CT and MR) only the borders say anything.</span></p>\n" +
         differences(pictures);
}

std::string deformation_section(const PagePictures& pictures) {
  if (pictures.planes[0].grid.empty()) return {};
  return "<h2>Deformation</h2>\n<p class=\"soft\">Lines " +
         fixed_digits(pictures.grid_mm, length_digits(pictures.grid_mm / 10, 1)) +
         " mm apart and straight in the fixed image, where the displacement takes them (without "
         "the affine). They should bend smoothly and never cross.</p>\n" +
         row(pictures, "", "grid of the displacement",
             [&](std::size_t i) {
               const PlanePictures& p = pictures.planes[i];
               return Layer{"lines",
                            "<svg viewBox=\"0 0 " + std::to_string(p.grid_width) + " " +
                                std::to_string(p.grid_height) +
                                "\"><path fill=\"none\" stroke=\"var(--accent)\" "
                                "stroke-width=\"5\" stroke-linejoin=\"round\" d=\"" +
                                p.grid + "\"/></svg>",
                            ""};
             }) +
         "<p class=\"soft key\"><span>log-Jacobian:</span> <span>half the volume</span><b "
         "style=\"background:" +
         gradient(volume_colour) +
         "\"></b><span>twice the volume</span> <b class=\"dot\" style=\"background:" +
         hex(fold_colour) + "\"></b><span>folded</span></p>\n" +
         row(pictures, "", "map of the log-Jacobian", [&](std::size_t i) {
           return Layer{"", "", pictures.planes[i].log_jacobian};
         });
}

}  // namespace freeflow::apps
