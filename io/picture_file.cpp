#include <freeflow/io/picture_file.h>

#include <itkPNGImageIO.h>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

void write_png(const std::string& path, int width, int height,
               const std::vector<unsigned char>& rgb) {
  require(width > 0 && height > 0 && rgb.size() == 3 * std::size_t(width) * std::size_t(height),
          "the number of pixels does not fit the picture's size");
  if (!has_extension(path, ".png")) fail_writing(path, "a picture's name ends with .png");
  try {
    const auto io = itk::PNGImageIO::New();
    io->SetFileName(path);
    io->SetNumberOfDimensions(2);
    io->SetDimensions(0, std::size_t(width));
    io->SetDimensions(1, std::size_t(height));
    io->SetComponentType(itk::ImageIOBase::IOComponentType::UCHAR);
    io->SetPixelType(itk::ImageIOBase::IOPixelType::RGB);
    io->SetNumberOfComponents(3);
    itk::ImageIORegion region(2);
    region.SetSize(0, std::size_t(width));
    region.SetSize(1, std::size_t(height));
    io->SetIORegion(region);
    io->Write(rgb.data());
  } catch (const itk::ExceptionObject&) {
    fail_cut_short(path);
  }
}

}  // namespace freeflow
