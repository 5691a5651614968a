// Private to atlas: what is kept between rounds, as bytes.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <freeflow/atlas/atlas_result.h>
#include <freeflow/atlas/template_image.h>

namespace freeflow {

/// Values one after the other, to be taken back in the same order.
class ByteWriter {
 public:
  template <class T>
  ByteWriter& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_bytes(&value, sizeof value);
  }
  template <class T>
  ByteWriter& put(const std::vector<T>& values) {
    put(values.size());
    return put_bytes(values.data(), values.size() * sizeof(T));
  }
  ByteWriter& put(const std::string& text) {
    return put(std::vector<char>(text.begin(), text.end()));
  }
  ByteWriter& put(const Geometry& grid);
  ByteWriter& put(const Eigen::Affine3d& affine);
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  ByteWriter& put_bytes(const void* data, std::size_t count) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + count);
    if (count) std::memcpy(bytes_.data() + at, data, count);
    return *this;
  }
  std::vector<std::byte> bytes_;
};

/// Of bytes that ByteWriter made.
class ByteReader {
 public:
  /// space_code: of the grids, whose bytes hold all else. It is that of the subjects or of the
  /// start, which a run that goes on has read as their headers have it now.
  explicit ByteReader(std::span<const std::byte> bytes, int space_code = Geometry{}.space_code)
      : bytes_(bytes), space_code_(space_code) {}
  template <class T>
  T get() {
    T value;
    take(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> values() {
    std::vector<T> values(get<std::size_t>());
    take(values.data(), values.size() * sizeof(T));
    return values;
  }
  std::string text() {
    const std::vector<char> letters = values<char>();
    return {letters.begin(), letters.end()};
  }
  Geometry grid();
  Eigen::Affine3d affine();

 private:
  void take(void* target, std::size_t count) {
    if (count) std::memcpy(target, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
  }
  std::span<const std::byte> bytes_;
  int space_code_;
};

/// A subject's result of a round: its deformation, or why there is none.
struct SubjectState {
  PackedField field;
  std::string failure;
};
std::vector<std::byte> to_bytes(const SubjectState& state);
SubjectState subject_state(std::span<const std::byte> bytes, int space_code);

/// A round's numbers, and why subjects were left out by its end (by card, empty: they were not).
struct RoundRecord {
  AtlasRound round;
  std::vector<std::string> failures;
};
std::vector<std::byte> to_bytes(const RoundRecord& record);
RoundRecord round_record(std::span<const std::byte> bytes, int space_code);

/// The template that a round made, and the mean deformation that it found.
std::vector<std::byte> to_bytes(Context& ctx, const TemplateImage& image,
                                const DisplacementField& mean);
void take_template(Context& ctx, std::span<const std::byte> bytes, int space_code,
                   TemplateImage& image, DisplacementField& mean);

}  // namespace freeflow
