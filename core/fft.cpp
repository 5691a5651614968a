// The CPU's transform: rows of x from real to complex, then bundles of neighbouring lines along y
// and z, copied together so that every cache line that is fetched is used.
#include <freeflow/core/fft.h>
#include <freeflow/core/parallel_errors.h>

#include <omp.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <unsupported/Eigen/FFT>
#include <vector>

#include <freeflow/core/error.h>
#include <freeflow/core/fft_plan.h>

namespace freeflow {

int fast_fft_size(int n) {
  for (int size = (std::max(n, 1) + 3) / 4 * 4;; size += 4) {
    int rest = size;
    for (const int factor : {2, 3, 5})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return size;
  }
}

namespace {

using Complex = std::complex<float>;

class CpuPlan : public RealFft::Plan {
 public:
  CpuPlan(int threads, Extent n, int batch) : n_(n), batch_(batch), workers_(std::size_t(threads)) {
    for (Worker& worker : workers_) {
      worker.fft.SetFlag(Eigen::FFT<float>::HalfSpectrum);
      worker.fft.SetFlag(Eigen::FFT<float>::Unscaled);
      worker.in.resize(std::size_t(bundle) * std::max({n.x, n.y, n.z}) + 2);
      worker.out.resize(worker.in.size());
    }
  }

  void forward(float* volumes) override {
    along_x(volumes, true);
    along(1, volumes, true);
    along(2, volumes, true);
  }
  void inverse(float* volumes) override {
    along(2, volumes, false);
    along(1, volumes, false);
    along_x(volumes, false);
  }

 private:
  static constexpr int bundle = 8;

  struct Worker {  // plans are made at a length's first use and kept
    Eigen::FFT<float> fft;
    std::vector<Complex> in, out;
  };

  int threads() const { return int(workers_.size()); }
  bool worth_threads() const { return n_.count() * batch_ >= 8192; }

  void along_x(float* volumes, bool forward) {
    const int row = RealFft::row_floats(n_), rows = n_.y * n_.z * batch_;
    if (n_.x == 1) {
      for (int r = 0; forward && r < rows; ++r)
        volumes[std::size_t(r) * row + 1] = 0;  // its own transform
      return;
    }
    ParallelErrors errors;  // a plan is made at a length's first use
#pragma omp parallel num_threads(threads()) if (worth_threads())
    {
      Worker& w = workers_[std::size_t(omp_get_thread_num())];
#pragma omp for schedule(static)
      for (int r = 0; r < rows; ++r)
        errors.run([&] { transform_row(w, volumes + std::size_t(r) * row, forward); });
    }
    errors.rethrow();
  }

  void transform_row(Worker& w, float* line, bool forward) const {
    const int complex_values = RealFft::row_floats(n_) / 2;
    Complex* spectrum = reinterpret_cast<Complex*>(line);
    if (forward) {
      w.fft.fwd(w.out.data(), line, n_.x);
      std::copy_n(w.out.data(), complex_values, spectrum);
    } else {
      std::copy_n(spectrum, complex_values, w.in.data());
      w.fft.inv(line, w.in.data(), n_.x);
    }
  }

  /// Lines along y (axis 1) or z (axis 2) of the complex volumes.
  void along(int axis, float* volumes, bool forward) {
    const int length = n_[axis], row = RealFft::row_floats(n_) / 2;
    if (length == 1) return;
    Complex* data = reinterpret_cast<Complex*>(volumes);
    const std::size_t slice = std::size_t(row) * n_.y,
                      stride = axis == 1 ? std::size_t(row) : slice;
    const int groups = axis == 1 ? n_.z * batch_ : n_.y * batch_,
              bundles = (row + bundle - 1) / bundle;
    ParallelErrors errors;
#pragma omp parallel num_threads(threads()) if (worth_threads())
    {
      Worker& w = workers_[std::size_t(omp_get_thread_num())];
#pragma omp for schedule(static)
      for (int task = 0; task < groups * bundles; ++task) {
        const int group = task / bundles, first = task % bundles * bundle,
                  count = std::min(bundle, row - first);
        const std::size_t begin =
            axis == 1 ? group * slice
                      : (group / n_.y) * slice * n_.z + std::size_t(group % n_.y) * row;
        Complex* lines = data + begin + first;
        for (int i = 0; i < length; ++i)
          for (int l = 0; l < count; ++l) w.in[std::size_t(l) * length + i] = lines[i * stride + l];
        errors.run([&] {
          for (int l = 0; l < count; ++l) {
            Complex *in = w.in.data() + std::size_t(l) * length,
                    *out = w.out.data() + std::size_t(l) * length;
            if (forward)
              w.fft.fwd(out, in, length);
            else
              w.fft.inv(out, in, length);
          }
        });
        for (int i = 0; i < length; ++i)
          for (int l = 0; l < count; ++l)
            lines[i * stride + l] = w.out[std::size_t(l) * length + i];
      }
    }
    errors.rethrow();
  }

  Extent n_;
  int batch_;
  std::vector<Worker> workers_;
};

}  // namespace

std::unique_ptr<RealFft::Plan> make_fft_plan(Context&, backend::Cpu cpu, Extent n, int batch) {
  return std::make_unique<CpuPlan>(cpu.threads, n, batch);
}

RealFft::RealFft(Context& ctx, Extent n, int batch) {
  require(n.count() > 0 && batch > 0, "a Fourier transform needs voxels");
  require(floats(n, 1) <= INT32_MAX,
          "a Fourier transform takes at most 2147483647 values, padding included; take "
          "Smoother::automatic and VelocityKind::gaussian");
  backend::dispatch_always(ctx, [&](auto target) { plan_ = make_fft_plan(ctx, target, n, batch); });
}

RealFft::~RealFft() = default;
RealFft::RealFft(RealFft&&) noexcept = default;
RealFft& RealFft::operator=(RealFft&&) noexcept = default;

void RealFft::forward(Context& ctx, float* volumes) const {
  backend::dispatch(ctx, [&](auto) { plan_->forward(volumes); });
}

void RealFft::inverse(Context& ctx, float* volumes) const {
  backend::dispatch(ctx, [&](auto) { plan_->inverse(volumes); });
}

}  // namespace freeflow
