// Threads that wait leave the cores to others, unless the user says otherwise. libgomp itself says
// how it was told to wait.
#include "apps/program_test_support.h"

namespace waiting_test {

using freeflow::test::Outcome;

class Waiting : public freeflow::test::ProgramTest {
 protected:
  Outcome ask(const std::string& environment) const {
    return run("env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=verbose " + environment +
               " " + freeflow::test::program_path("ffdreg") + " --version");
  }
};

TEST_F(Waiting, ThreadsSleepSoonByDefault) {
  const Outcome o = ask("OMP_NUM_THREADS=2");
  EXPECT_EQ(o.status, 0);
  EXPECT_NE(o.err.find("GOMP_SPINCOUNT = '10000'"), std::string::npos) << o.err;
  EXPECT_EQ(o.out.rfind("ffdreg ", 0), 0u) << o.out;
}

TEST_F(Waiting, TheUsersWordStands) {
  const Outcome counted = ask("OMP_NUM_THREADS=2 GOMP_SPINCOUNT=77");
  EXPECT_NE(counted.err.find("GOMP_SPINCOUNT = '77'"), std::string::npos) << counted.err;
  for (const char* policy : {"OMP_WAIT_POLICY=active", "OMP_WAIT_POLICY=passive"}) {
    const Outcome o = ask(policy);
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.err.find("GOMP_SPINCOUNT = '10000'"), std::string::npos) << o.err;
  }
}

}  // namespace waiting_test
