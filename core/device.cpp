#include <freeflow/core/device.h>

#include <algorithm>

#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>

namespace freeflow {

std::string Device::name() const { return is_cuda() ? "cuda:" + std::to_string(index) : "cpu"; }

std::string Device::description() const {
  return is_cuda() ? cuda_runtime::device_name(index) : "CPU";
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
  Device wanted{Kind::cuda, 0};
  if (text.rfind("cuda:", 0) == 0 && text.size() > 5 && text.size() < 9 &&
      text.find_first_not_of("0123456789", 5) == std::string::npos)
    wanted.index = std::stoi(text.substr(5));
  else
    require(text == "cuda", "device '" + text + "' is not one of auto, cpu, cuda, cuda:N");
  if (std::find(devices.begin(), devices.end(), wanted) != devices.end()) return wanted;
  std::string list;
  for (const Device& d : devices) list += (list.empty() ? "" : ", ") + d.name();
  throw InvalidArgument("device '" + text + "' does not exist here; available: " + list);
}

}  // namespace freeflow
