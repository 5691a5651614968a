#include <apps/field_names.h>
#include <apps/program.h>
#include <apps/shell_word.h>
#include <apps/threads.h>

#include <fcntl.h>
#include <malloc.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <new>
#include <system_error>

#include <freeflow/core/cancelled.h>
#include <freeflow/core/error.h>
#include <freeflow/io/hdf5_process.h>
#include <freeflow/io/output_set.h>
#include <freeflow/io/quiet.h>
#include <freeflow/io/write_error.h>

namespace freeflow::apps {

namespace {

volatile std::sig_atomic_t received_signal = 0;

// Only its number: the work looks at it every iteration, and what was staged has to be removed
// whatever else comes.
void on_signal(int number) { received_signal = number; }

struct SignalName {
  int number;
  const char* name;
};
/// What people, terminals and batch systems (before a limit of time) end programs with.
constexpr SignalName ending_signals[] = {
    {SIGINT, "SIGINT"},   {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"},  {SIGQUIT, "SIGQUIT"},
    {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"}};

void install_handlers() {
  const bool nohup = std::signal(SIGHUP, SIG_IGN) == SIG_IGN;
  for (const SignalName& ending : ending_signals)
    if (ending.number != SIGHUP || !nohup) std::signal(ending.number, on_signal);
  // A pipe that nobody reads any more and a file at its limit are errors of writing like others.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

/// The stack grows as it is used, and where a limit of the address space leaves nothing to grow
/// into that is SIGSEGV, not a sentence: so the programs take what they need of it (0.4 MiB) at the
/// start.
[[gnu::noinline]] void take_stack() {
  constexpr rlim_t enough = 1 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
  const std::size_t bytes = std::min(enough, limit.rlim_cur / 2);
  auto* lowest = static_cast<volatile char*>(__builtin_alloca(bytes));
  *lowest = 0;
}

/// A file that is opened while one of the three is closed would get what is printed.
void occupy_standard_streams() {
  for (int stream = 0; stream < 3; ++stream)
    if (fcntl(stream, F_GETFD) < 0)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // using it stays an error
}

/// glibc gives every thread a heap of its own, which reserves 64 MiB of address space. Where that
/// is limited (ulimit -v) the next thread may not start then, and libgomp ends the program.
void share_heaps() {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 2);
#endif
}

/// OMP_NUM_THREADS may say anything; what no machine has means all that this one has.
void cap_threads() {
  const int asked = omp_get_max_threads();
  if (asked < 1 || asked > most_threads) omp_set_num_threads(omp_get_num_procs());
}

int fail(const std::string& name, const std::string& sentence, int status) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), sentence.c_str());
  return status;
}

int end_interrupted(const std::string& name, const std::string& left) {
  std::string by;
  for (const SignalName& ending : ending_signals)
    if (ending.number == received_signal && ending.number != SIGINT)
      by = std::string(" by ") + ending.name;
  const int number = received_signal ? received_signal : SIGINT;
  return fail(name, "interrupted" + by + "; " + left, 128 + number);
}

/// What was printed must have arrived.
int end(const std::string& name, int status) {
  std::cout.flush();
  const bool printed = std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout;
  if (printed || status != done) return status;
  if (errno == EPIPE) return work_failed;  // who read it has left, and knows
  return fail(name, std::string("cannot write to standard output: ") + std::strerror(errno),
              work_failed);
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

std::string for_users(const std::string& sentence) {
  std::string text = without_staging(translated(sentence));
  // Names of files, and what files say, may hold anything.
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  return text;
}

std::string command_line() {
  std::ifstream words("/proc/self/cmdline", std::ios::binary);
  std::string line;
  for (std::string word; std::getline(words, word, '\0');)
    line.append(line.empty() ? "" : " ").append(shell_word(word));
  return line;
}

bool interrupt_requested() { return received_signal != 0; }

void stop_if_interrupted() {
  if (interrupt_requested()) throw Cancelled{};
}

Failure current_failure() {
  try {
    throw;
  } catch (const InvalidArgument& e) {
    return {for_users(e.what()), unusable_input};
  } catch (const WriteError& e) {
    return {for_users(e.what()), work_failed};
  } catch (const IoError& e) {
    return {for_users(e.what()), unusable_input};
  } catch (const std::system_error& e) {
    const bool threads = e.code() == std::errc::resource_unavailable_try_again;
    return {threads ? no_more_threads : for_users(e.what()), work_failed};
  } catch (const std::bad_alloc&) {
    return {"out of memory; resample the images to a coarser grid", work_failed};
  } catch (const std::exception& e) {
    return {for_users(e.what()), work_failed};
  }
}

int run_program(const std::string& name, const std::function<int()>& work) {
  if (!cpu_is_supported())
    return fail(
        name,
        "this CPU has no AVX2 and FMA; build FreeFlow on this machine with -DFREEFLOW_NATIVE=ON",
        work_failed);
  take_stack();
  silence_foreign_readers();
  serve_hdf5_reading();
  occupy_standard_streams();
  install_handlers();
  cap_threads();
  share_heaps();
  try {
    return end(name, work());
  } catch (const Interrupted& e) {
    return end_interrupted(name, e.left);
  } catch (const Cancelled&) {
    return end_interrupted(name, "nothing was written");
  } catch (...) {
    const Failure failure = current_failure();
    return fail(name, failure.sentence, failure.status);
  }
}

}  // namespace freeflow::apps
