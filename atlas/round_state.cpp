#include <freeflow/atlas/round_state.h>

namespace freeflow {

ByteWriter& ByteWriter::put(const Geometry& grid) {
  put(grid.extent);
  for (int i = 0; i < 3; ++i) {
    put(grid.spacing[i]).put(grid.origin[i]);
    for (int j = 0; j < 3; ++j) put(grid.direction(i, j));
  }
  return *this;
}

Geometry ByteReader::grid() {
  Geometry grid;
  grid.space_code = space_code_;
  grid.extent = get<Extent>();
  for (int i = 0; i < 3; ++i) {
    grid.spacing[i] = get<double>();
    grid.origin[i] = get<double>();
    for (int j = 0; j < 3; ++j) grid.direction(i, j) = get<double>();
  }
  return grid;
}

ByteWriter& ByteWriter::put(const Eigen::Affine3d& affine) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) put(affine.matrix()(i, j));
  return *this;
}

Eigen::Affine3d ByteReader::affine() {
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) affine.matrix()(i, j) = get<double>();
  return affine;
}

std::vector<std::byte> to_bytes(const SubjectState& state) {
  return ByteWriter()
      .put(state.failure)
      .put(state.field.geometry)
      .put(state.field.unit)
      .put(state.field.multiples)
      .take();
}

SubjectState subject_state(std::span<const std::byte> bytes, int space_code) {
  ByteReader from(bytes, space_code);
  SubjectState state;
  state.failure = from.text();
  state.field.geometry = from.grid();
  state.field.unit = from.get<float>();
  state.field.multiples = from.values<std::int16_t>();
  return state;
}

std::vector<std::byte> to_bytes(const RoundRecord& record) {
  const AtlasRound& r = record.round;
  ByteWriter bytes;
  bytes.put(r.resolution)
      .put(r.resolutions)
      .put(r.round)
      .put(r.grid)
      .put(r.drift_mm)
      .put(r.change_mm)
      .put(r.change_voxels)
      .put(r.deformation_mm)
      .put(r.sharpness)
      .put(r.seconds)
      .put(r.picture)
      .put(r.width)
      .put(r.height)
      .put(r.pixel_mm)
      .put(record.failures.size());
  for (const std::string& failure : record.failures) bytes.put(failure);
  return bytes.take();
}

RoundRecord round_record(std::span<const std::byte> bytes, int space_code) {
  ByteReader from(bytes, space_code);
  RoundRecord record;
  AtlasRound& r = record.round;
  r.resolution = from.get<int>();
  r.resolutions = from.get<int>();
  r.round = from.get<int>();
  r.grid = from.grid();
  r.drift_mm = from.get<double>();
  r.change_mm = from.get<double>();
  r.change_voxels = from.get<double>();
  r.deformation_mm = from.get<double>();
  r.sharpness = from.get<double>();
  r.seconds = from.get<double>();
  r.picture = from.values<float>();
  r.width = from.get<int>();
  r.height = from.get<int>();
  r.pixel_mm = from.get<std::array<double, 2>>();
  record.failures.resize(from.get<std::size_t>());
  for (std::string& failure : record.failures) failure = from.text();
  return record;
}

std::vector<std::byte> to_bytes(Context& ctx, const TemplateImage& image,
                                const DisplacementField& mean) {
  ByteWriter bytes;
  bytes.put(image.mask.geometry()).put(image.channels.size());
  for (const Volume<float>& channel : image.channels) bytes.put(channel.to_host(ctx));
  bytes.put(image.mask.to_host(ctx)).put(mean.geometry()).put(mean.to_host(ctx));
  return bytes.take();
}

void take_template(Context& ctx, std::span<const std::byte> bytes, int space_code,
                   TemplateImage& image, DisplacementField& mean) {
  ByteReader from(bytes, space_code);
  const Geometry grid = from.grid();
  image.channels.clear();
  for (std::size_t c = from.get<std::size_t>(); c > 0; --c)
    image.channels.emplace_back(ctx, grid, from.values<float>());
  image.mask = Volume<float>(ctx, grid, from.values<float>());
  const Geometry mean_grid = from.grid();
  mean = DisplacementField(ctx, mean_grid, from.values<float>());
}

}  // namespace freeflow
