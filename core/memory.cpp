#include <freeflow/core/memory.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include <freeflow/core/context_state.h>
#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>

namespace freeflow {

namespace {

/// The number in a file of one number; the largest where there is none ("max", no such file).
std::size_t number_in(const std::string& path) {
  std::size_t number = 0;
  return std::ifstream(path) >> number ? number : std::numeric_limits<std::size_t>::max();
}

std::size_t available_to_system() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::size_t kib = 0; file >> name >> kib; std::getline(file, unit))
    if (name == "MemAvailable:") return kib << 10;
  return std::numeric_limits<std::size_t>::max();
}

/// What one group of processes leaves (cgroup version 2; its file cache can be given back).
std::size_t left_in(const std::string& group) {
  const std::size_t most = number_in(group + "/memory.max");
  if (most == std::numeric_limits<std::size_t>::max()) return most;
  std::size_t used = number_in(group + "/memory.current"), cache = 0, bytes = 0;
  std::ifstream file(group + "/memory.stat");
  for (std::string name; file >> name >> bytes;)
    if (name == "file") cache = bytes;
  used -= std::min(used, cache);
  return most - std::min(most, used);
}

/// What the container or the batch job leaves: the least of the groups that this process is in.
std::size_t available_to_group() {
  std::string own;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) own = line.substr(3);
  std::size_t least = left_in("/sys/fs/cgroup");
  for (; own.size() > 1; own.resize(own.rfind('/')))
    least = std::min(least, left_in("/sys/fs/cgroup" + own));
  return least;
}

std::string mib(std::size_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; }

void require_bytes(std::size_t needed, std::size_t free, const std::string& where,
                   const std::string& what, const std::string& mend) {
  if (needed > free)
    throw DeviceError("out of memory: " + what + " needs about " + mib(needed) + " of " + where +
                      " memory, " + mib(free) + " are free; " + mend);
}

}  // namespace

std::size_t free_host_bytes() { return std::min(available_to_system(), available_to_group()); }

std::size_t free_bytes(const Context& ctx) {
  if (!ctx.device().is_cuda()) return free_host_bytes();
  const detail::CurrentDevice current(*ctx.state());
  if (ctx.group()) return ctx.group()->free_bytes();
  return cuda_runtime::free_bytes(ctx.state()->pool);
}

void require_free(const Context& ctx, std::size_t needed, const std::string& what,
                  const std::string& mend) {
  require_bytes(needed, free_bytes(ctx),
                ctx.device().is_cuda() ? ctx.device().name() + "'s" : "the host's", what, mend);
}

void require_free_host(std::size_t needed, const std::string& what, const std::string& mend) {
  require_bytes(needed, free_host_bytes(), "the host's", what, mend);
}

}  // namespace freeflow
