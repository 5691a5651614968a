// cuFFT, loaded when it is first needed. Compiled by g++ where the toolkit was found, with its
// header alone.
#include <cufft.h>
#include <dlfcn.h>

#include <algorithm>
#include <string>

#include <freeflow/core/buffer.h>
#include <freeflow/core/error.h>
#include <freeflow/core/fft_plan.h>

namespace freeflow {

namespace {

/// The functions that are used, by the types of the header.
struct CufftLibrary {
  decltype(&cufftCreate) create = nullptr;
  decltype(&cufftDestroy) destroy = nullptr;
  decltype(&cufftSetAutoAllocation) set_auto_allocation = nullptr;
  decltype(&cufftMakePlanMany) make_plan_many = nullptr;
  decltype(&cufftSetWorkArea) set_work_area = nullptr;
  decltype(&cufftSetStream) set_stream = nullptr;
  decltype(&cufftExecR2C) forward = nullptr;
  decltype(&cufftExecC2R) inverse = nullptr;
};

/// In the loader's usual places (LD_LIBRARY_PATH, the program's own lib folder, the system's), then
/// where the toolkit of the build and toolkits in general lie.
void* open_cufft() {
  const std::string name = "libcufft.so." + std::to_string(CUFFT_VER_MAJOR);
  for (const std::string& folder : {std::string(), std::string(FREEFLOW_CUDA_LIBRARY_DIR) + "/",
                                    std::string("/usr/local/cuda/lib64/")})
    if (void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  throw DeviceError(
      "cannot load " + name +
      ", which Fourier transforms on a GPU need: add its folder to LD_LIBRARY_PATH, or take "
      "Smoother::automatic and VelocityKind::gaussian, or the CPU");
}

const CufftLibrary& cufft() {
  static const CufftLibrary loaded = [] {
    void* library = open_cufft();
    CufftLibrary l;
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
      if (!function) throw DeviceError(std::string("libcufft has no ") + symbol);
    };
    find(l.create, "cufftCreate");
    find(l.destroy, "cufftDestroy");
    find(l.set_auto_allocation, "cufftSetAutoAllocation");
    find(l.make_plan_many, "cufftMakePlanMany");
    find(l.set_work_area, "cufftSetWorkArea");
    find(l.set_stream, "cufftSetStream");
    find(l.forward, "cufftExecR2C");
    find(l.inverse, "cufftExecC2R");
    return l;
  }();
  return loaded;
}

void check(cufftResult result, const char* what) {
  if (result != CUFFT_SUCCESS)
    throw DeviceError(std::string("cuFFT: ") + what + " failed with error " +
                      std::to_string(int(result)));
}

/// A plan per direction; they share one work area, which comes from the context so that its
/// statistics know of it.
class CudaPlan : public RealFft::Plan {
 public:
  CudaPlan(Context& ctx, void* stream, Extent n, int batch) {
    const std::size_t needed = std::max(forward_.make(CUFFT_R2C, stream, n, batch),
                                        inverse_.make(CUFFT_C2R, stream, n, batch));
    work_ = Buffer<char>(ctx, std::max<std::size_t>(needed, 16));
    for (const Handle* h : {&forward_, &inverse_})
      check(cufft().set_work_area(h->plan, work_.data()), "cufftSetWorkArea");
  }

  void forward(float* volumes) override {
    check(cufft().forward(forward_.plan, volumes, reinterpret_cast<cufftComplex*>(volumes)),
          "cufftExecR2C");
  }
  void inverse(float* volumes) override {
    check(cufft().inverse(inverse_.plan, reinterpret_cast<cufftComplex*>(volumes), volumes),
          "cufftExecC2R");
  }

 private:
  struct Handle {
    Handle() { check(cufft().create(&plan), "cufftCreate"); }
    Handle(const Handle&) = delete;
    ~Handle() { cufft().destroy(plan); }

    std::size_t make(cufftType type, void* stream, Extent n, int batch) {
      check(cufft().set_auto_allocation(plan, 0), "cufftSetAutoAllocation");
      int sizes[3] = {n.z, n.y, n.x}, real[3] = {n.z, n.y, RealFft::row_floats(n)},
          complex[3] = {n.z, n.y, n.x / 2 + 1};
      const int real_distance = real[0] * real[1] * real[2], complex_distance = real_distance / 2;
      std::size_t bytes = 0;
      if (type == CUFFT_R2C)
        check(cufft().make_plan_many(plan, 3, sizes, real, 1, real_distance, complex, 1,
                                     complex_distance, type, batch, &bytes),
              "a plan");
      else
        check(cufft().make_plan_many(plan, 3, sizes, complex, 1, complex_distance, real, 1,
                                     real_distance, type, batch, &bytes),
              "a plan");
      check(cufft().set_stream(plan, static_cast<cudaStream_t>(stream)), "cufftSetStream");
      return bytes;
    }

    cufftHandle plan = 0;
  };

  Handle forward_, inverse_;
  Buffer<char> work_;
};

}  // namespace

std::unique_ptr<RealFft::Plan> make_fft_plan(Context& ctx, backend::Cuda cuda, Extent n,
                                             int batch) {
  return std::make_unique<CudaPlan>(ctx, cuda.stream, n, batch);
}

}  // namespace freeflow
