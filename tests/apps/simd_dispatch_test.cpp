// A machine with AVX-512 gives the bytes of one without, which it is where glibc is told so.
#include <freeflow/core/simd_dispatch.h>

#include "apps/ffdreg_test_support.h"

namespace freeflow::test {
namespace simd_dispatch_test {

using SimdDispatch = Ffdreg;

TEST_F(SimdDispatch, Avx512ChangesNoBit) {
  if (!uses_avx512()) GTEST_SKIP() << "this machine has no AVX-512, or FreeFlow was built for it";
  const std::string images = " --device cpu -f f.nii.gz -m m.nii.gz --levels 2 --iterations 10 ";
  const std::vector<std::string> calls = {
      ffdreg + images,
      ffdreg + images + "-s cr --bending 0.01",
      ffdreg + images + "-s mi --estimator partial_volume",
      program_path("fluidreg") + images,
      program_path("fluidreg") + images + "-s mind",
      program_path("fluidreg") + images + "-s nmi --sigma-field 3vox --start none",
      program_path("linreg") + images};
  for (const std::string& call : calls) {
    ASSERT_EQ(run(call + " -o with_").status, 0) << call;
    const Outcome without =
        run("env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F " + call + " -o out_");
    ASSERT_EQ(without.status, 0) << call << without.err;
    EXPECT_NE(slurp(folder / "with_report.json").find("CPU with AVX-512"), std::string::npos);
    EXPECT_EQ(slurp(folder / "out_report.json").find("AVX-512"), std::string::npos)
        << "this glibc takes no such advice";
    for (const std::string& name : written) {
      if (name == "report.json" || !std::filesystem::exists(folder / ("with_" + name))) continue;
      EXPECT_EQ(slurp(folder / ("with_" + name)), slurp(folder / ("out_" + name)))
          << call << ' ' << name;
    }
  }
}

}  // namespace simd_dispatch_test
}  // namespace freeflow::test
