#include <freeflow/io/hdf5_process.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>

#include <freeflow/core/cancelled.h>
#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

constexpr const char* path_variable = "FREEFLOW_READ_HDF5";
constexpr char reader_name[] = "freeflow-read-hdf5";  // in argv[0], and in the list of processes
bool reads_apart = false;  // of this process, which cannot know whose program it is in

enum class Answer : std::uint64_t { transforms, sentence, out_of_memory };

// --- the process that reads ---

/// The clock is for what waits without computing.
void limit_seconds(rlim_t seconds) {
  const rlimit cpu{seconds, RLIM_INFINITY};
  setrlimit(RLIMIT_CPU, &cpu);
  alarm(unsigned(60 + 10 * seconds));
}

/// What a file of that size takes, and some more.
void limit_this_process(std::uint64_t file_bytes) {
  constexpr std::uint64_t bytes_per_second = 20'000'000;
  const rlimit no_core{0, 0};
  limit_seconds(5 + file_bytes / bytes_per_second);
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/// Few bytes may be deflated from many numbers.
void allow_for_numbers(std::uint64_t count) {
  constexpr std::uint64_t numbers_per_second = 5'000'000;
  rlimit cpu{};
  getrlimit(RLIMIT_CPU, &cpu);
  limit_seconds(cpu.rlim_cur + count / numbers_per_second);
}

void send(const void* bytes, std::size_t count) {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = write(STDOUT_FILENO, from, count);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) _exit(EXIT_FAILURE);  // who asked has gone
    from += sent;
    count -= std::size_t(sent);
  }
}

void send_number(std::uint64_t number) { send(&number, sizeof number); }
void send_text(const std::string& text) {
  send_number(text.size());
  send(text.data(), text.size());
}
void send_numbers(const std::vector<double>& numbers) {
  send_number(numbers.size());
  send(numbers.data(), numbers.size() * sizeof(double));
}

void read_and_send(const std::string& path) {
  try {
    const std::vector<StoredTransform> transforms = read_stored_transforms(path, allow_for_numbers);
    send_number(std::uint64_t(Answer::transforms));
    send_number(transforms.size());
    for (const StoredTransform& transform : transforms) {
      send_text(transform.type);
      send_numbers(transform.fixed);
      send_numbers(transform.parameters);
    }
  } catch (const IoError& e) {
    send_number(std::uint64_t(Answer::sentence));
    send_text(e.what());
  } catch (const std::bad_alloc&) {
    send_number(std::uint64_t(Answer::out_of_memory));
  }
}

// --- the process that asks ---

[[noreturn]] void fail_damaged(const std::string& path, int status) {
  const int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (by == SIGINT || by == SIGTERM || by == SIGHUP || by == SIGQUIT) throw Cancelled{};
  if (by == SIGKILL) throw std::bad_alloc();  // by the system, which ends who has most
  if (by == SIGXCPU || by == SIGALRM)
    fail_reading(path, "it is damaged: its structures lead nowhere and reading them took too long");
  fail_reading(path, "it is damaged: HDF5 cannot follow its structures");
}

class ReadingProcess {
 public:
  explicit ReadingProcess(const std::string& path) : path_(path) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category());
    pipe_ = ends[0];
    const std::string setting = std::string(path_variable) + '=' + path;
    std::vector<char*> environment;
    for (char** one = environ; *one; ++one) environment.push_back(*one);
    environment.push_back(const_cast<char*>(setting.c_str()));
    environment.push_back(nullptr);
    std::string name = reader_name;
    char* const arguments[] = {name.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int error =
        posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) {
      close(pipe_);
      throw std::system_error(error, std::generic_category());
    }
  }
  ~ReadingProcess() {
    close(pipe_);
    if (process_ > 0) kill(process_, SIGKILL);
    end();
  }
  ReadingProcess(const ReadingProcess&) = delete;
  ReadingProcess& operator=(const ReadingProcess&) = delete;

  std::uint64_t number() {
    std::uint64_t value = 0;
    receive(&value, sizeof value);
    return value;
  }
  std::string text() {
    std::string value(std::size_t(number()), '\0');
    receive(value.data(), value.size());
    return value;
  }
  std::vector<double> numbers() {
    std::vector<double> values(std::size_t{number()});
    receive(values.data(), values.size() * sizeof(double));
    return values;
  }

 private:
  void receive(void* target, std::size_t count) {
    auto* to = static_cast<char*>(target);
    while (count > 0) {
      const ssize_t received = read(pipe_, to, count);
      if (received < 0 && errno == EINTR) continue;
      if (received <= 0) fail_damaged(path_, end());
      to += received;
      count -= std::size_t(received);
    }
  }

  /// Waits, and returns how it ended.
  int end() {
    int status = 0;
    if (process_ <= 0) return status;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return status;
  }

  const std::string& path_;
  int pipe_ = -1;
  pid_t process_ = -1;
};

}  // namespace

void serve_hdf5_reading() {
  const char* const path = std::getenv(path_variable);
  if (!path || std::strcmp(program_invocation_name, reader_name) != 0) {
    reads_apart = true;
    return;
  }
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(path, none);
  limit_this_process(none ? 0 : bytes);
  read_and_send(path);
  _exit(EXIT_SUCCESS);
}

std::vector<StoredTransform> read_transforms_apart(const std::string& path) {
  size_of_readable_file(path);
  if (!reads_apart) return read_stored_transforms(path);
  ReadingProcess process(path);
  const auto answer = Answer(process.number());
  if (answer == Answer::out_of_memory) throw std::bad_alloc();
  if (answer == Answer::sentence) throw IoError(process.text());
  std::vector<StoredTransform> transforms(std::size_t(process.number()));
  for (StoredTransform& transform : transforms) {
    transform.type = process.text();
    transform.fixed = process.numbers();
    transform.parameters = process.numbers();
  }
  return transforms;
}

}  // namespace freeflow
