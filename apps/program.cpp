#include <apps/field_names.h>
#include <apps/program.h>

#include <csignal>
#include <cstdio>
#include <new>

#include <freeflow/core/cancelled.h>
#include <freeflow/core/error.h>
#include <freeflow/io/hdf5_process.h>
#include <freeflow/io/output_set.h>
#include <freeflow/io/quiet.h>
#include <freeflow/io/write_error.h>

namespace freeflow::apps {

namespace {

volatile std::sig_atomic_t interrupted_by_signal = 0;

// Only a flag: the work looks at it every iteration, and what was staged has to be removed whatever
// else comes.
void on_signal(int) { interrupted_by_signal = 1; }

int fail(const std::string& name, const std::string& sentence, ExitStatus status) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), without_staging(translated(sentence)).c_str());
  return status;
}

/// The library is compiled for x86-64-v3; without this check an older CPU would end in "illegal
/// instruction".
bool cpu_is_supported() {
#if defined(__x86_64__) && defined(__AVX2__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

}  // namespace

bool interrupt_requested() { return interrupted_by_signal != 0; }

void stop_if_interrupted() {
  if (interrupt_requested()) throw Cancelled{};
}

int run_program(const std::string& name, const std::function<int()>& work) {
  if (!cpu_is_supported())
    return fail(
        name,
        "this CPU has no AVX2 and FMA; build FreeFlow on this machine with -DFREEFLOW_NATIVE=ON",
        work_failed);
  serve_hdf5_reading();
  silence_foreign_readers();
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  try {
    return work();
  } catch (const Cancelled&) {
    return fail(name, "interrupted; nothing was written", interrupted);
  } catch (const InvalidArgument& e) {
    return fail(name, e.what(), unusable_input);
  } catch (const WriteError& e) {
    return fail(name, e.what(), work_failed);
  } catch (const IoError& e) {
    return fail(name, e.what(), unusable_input);
  } catch (const std::bad_alloc&) {
    return fail(name, "out of memory; resample the images to a coarser grid", work_failed);
  } catch (const std::exception& e) {
    return fail(name, e.what(), work_failed);
  }
}

}  // namespace freeflow::apps
