#include <freeflow/io/picture_file.h>

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <new>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

namespace {

using Bytes = std::vector<unsigned char>;

enum ColourType : unsigned char { grey = 0, rgb_colours = 2, indexed = 3 };

std::string big_endian(std::uint32_t value) {
  return {char(value >> 24), char(value >> 16 & 255), char(value >> 8 & 255), char(value & 255)};
}

/// A chunk: length, type, data, CRC of the last two.
std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size()));
  return big_endian(std::uint32_t(data.size())) + body + big_endian(std::uint32_t(crc));
}

std::string deflated(const Bytes& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, bytes.data(), bytes.size(), 6) != Z_OK)
    throw std::bad_alloc();
  out.resize(size);
  return out;
}

/// Each row after the number of its filter: 1, the difference to the pixel on the left, which
/// deflates well in photographs; 0, none, as the places in a palette have no order.
Bytes filtered(const Bytes& pixels, std::size_t row_bytes, std::size_t pixel_bytes, bool subtract) {
  Bytes rows;
  rows.reserve(pixels.size() + pixels.size() / row_bytes);
  for (std::size_t start = 0; start < pixels.size(); start += row_bytes) {
    rows.push_back(subtract ? 1 : 0);
    for (std::size_t i = 0; i < row_bytes; ++i) {
      const int left = subtract && i >= pixel_bytes ? pixels[start + i - pixel_bytes] : 0;
      rows.push_back((unsigned char)(pixels[start + i] - left));
    }
  }
  return rows;
}

std::string png(int width, int height, ColourType type, const Bytes& pixels,
                const std::string& palette_chunks) {
  const std::size_t pixel_bytes = type == rgb_colours ? 3 : 1;
  require(width > 0 && height > 0 &&
              pixels.size() == pixel_bytes * std::size_t(width) * std::size_t(height),
          "the number of pixels does not fit the picture's size");
  const std::string eight_bits{8, char(type), 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR",
               big_endian(std::uint32_t(width)) + big_endian(std::uint32_t(height)) + eight_bits) +
         palette_chunks +
         chunk("IDAT", deflated(filtered(pixels, pixel_bytes * std::size_t(width), pixel_bytes,
                                         type != indexed))) +
         chunk("IEND", "");
}

}  // namespace

std::string png_of(const Picture& p) {
  if (p.palette.empty()) return png(p.width, p.height, grey, p.pixels, "");
  require(p.palette.size() <= 256 &&
              std::ranges::all_of(p.pixels,
                                  [&](int place) { return std::size_t(place) < p.palette.size(); }),
          "a pixel lies beyond the picture's palette");
  std::string colours, opacities;
  for (const auto& [red, green, blue, opacity] : p.palette) {
    colours += {char(red), char(green), char(blue)};
    opacities += char(opacity);
  }
  return png(p.width, p.height, indexed, p.pixels,
             chunk("PLTE", colours) + chunk("tRNS", opacities));
}

void write_png(const std::string& path, int width, int height, const Bytes& rgb) {
  const std::string bytes = png(width, height, rgb_colours, rgb, "");
  if (!has_extension(path, ".png")) fail_writing(path, "a picture's name ends with .png");
  std::ofstream file(path, std::ios::binary);
  if (!file) fail_writing(path, errno);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  if (!file) fail_cut_short(path);
}

}  // namespace freeflow
