// How .nii.gz files are compressed.
#pragma once

namespace freeflow {

struct Compression {
  /// A number of threads alone will do, 0 for all that OpenMP offers: the bytes do not depend on
  /// it.
  Compression(int number_of_threads = 0, int of_level = fastest)
      : threads(number_of_threads), level(of_level) {}

  int threads;
  /// 1 to 9. At 1 what hardly shrinks (fields) is stored, so that readers are as fast as they can
  /// be; from 2 on it is deflated. By ISA-L, from 6 on by zlib at its levels, many times as slow.
  int level;

  static constexpr int fastest = 1, all_deflated = 2, by_zlib = 6, smallest = 9;
};

}  // namespace freeflow
