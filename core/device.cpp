#include <freeflow/core/device.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>
#include <freeflow/core/simd_dispatch.h>

namespace freeflow {

namespace {

/// The number that `text` is, of at most three digits.
std::optional<int> small_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool reads = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return reads && text.size() < 4 ? std::optional(number) : std::nullopt;
}

/// "1" or "0-3".
std::optional<Device> gpus_of(std::string_view numbers) {
  const std::size_t dash = numbers.find('-');
  const auto first = small_number(numbers.substr(0, dash)),
             last = dash == numbers.npos ? first : small_number(numbers.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return Device{Device::Kind::cuda, *first, *last - *first + 1};
}

}  // namespace

std::string Device::name() const {
  if (!is_cuda()) return "cpu";
  const std::string first = "cuda:" + std::to_string(index);
  return count == 1 ? first : first + "-" + std::to_string(index + count - 1);
}

std::string Device::description() const {
  if (!is_cuda()) return uses_avx512() ? "CPU with AVX-512" : "CPU";
  return (count == 1 ? "" : std::to_string(count) + " x ") + cuda_runtime::device_name(index);
}

std::vector<Device> available_devices() {
  std::vector<Device> devices{Device{}};
  for (int i = 0; i < cuda_runtime::device_count(); ++i) devices.push_back({Device::Kind::cuda, i});
  return devices;
}

Device Device::parse(const std::string& text) {
  const std::vector<Device> devices = available_devices();
  if (text == "auto") return devices.size() > 1 ? devices[1] : devices[0];
  if (text == "cpu") return devices[0];
  const int gpus = int(devices.size()) - 1;
  std::optional<Device> wanted;
  if (text == "cuda") wanted = Device{Kind::cuda};
  if (text == "cuda:all") wanted = Device{Kind::cuda, 0, std::max(gpus, 1)};
  if (text.starts_with("cuda:") && !wanted) wanted = gpus_of(std::string_view(text).substr(5));
  require(wanted.has_value(),
          "device '" + text + "' is not one of auto, cpu, cuda, cuda:N, cuda:N-M, cuda:all");
  if (wanted->index + wanted->count <= gpus) return *wanted;
  std::string list;
  for (const Device& d : devices) list += (list.empty() ? "" : ", ") + d.name();
  throw InvalidArgument("device '" + text + "' does not exist here; available: " + list);
}

}  // namespace freeflow
