// The patches of a pass are copied into a buffer that a texture is bound to (a linear texture
// reaches 2^27 values, a band may have more).
#include <freeflow/denoise/patch_search/multipass.cuh>

namespace freeflow {

namespace {

struct TextureSource {
  cudaTextureObject_t texture;
  int length;
  __device__ int row(int i) const { return i * length; }
  __device__ float value(int at) const { return tex1Dfetch<float>(texture, at); }
};

/// A texture over `words` floats that lives as long as this.
class LinearTexture {
 public:
  LinearTexture(float* data, int words) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = data;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = sizeof(float) * std::size_t(words);
    const cudaTextureDesc plain = {};
    cuda_check(cudaCreateTextureObject(&texture_, &resource, &plain, nullptr));
  }
  ~LinearTexture() { cudaDestroyTextureObject(texture_); }
  LinearTexture(const LinearTexture&) = delete;
  cudaTextureObject_t get() const { return texture_; }

 private:
  cudaTextureObject_t texture_ = 0;
};

std::size_t scratch_bytes(const PatchView& p, int, int) {
  return sizeof(float) * std::size_t(multipass::per_pass(p)) * p.length;
}

void run(backend::Cuda cuda, const Search& s) {
  const auto stream = static_cast<cudaStream_t>(cuda.stream);
  const PatchView& p = s.patches;
  auto* pass = reinterpret_cast<float*>(s.scratch);
  const LinearTexture texture(pass, multipass::per_pass(p) * p.length);
  multipass::run(cuda, s, [&](int begin, int end) {
    cuda_check(cudaMemcpy2DAsync(pass, sizeof(float) * p.length,
                                 p.values + std::size_t(begin) * p.stride, sizeof(float) * p.stride,
                                 sizeof(float) * p.length, end - begin, cudaMemcpyDeviceToDevice,
                                 stream));
    return TextureSource{texture.get(), p.length};
  });
  cuda_check(cudaStreamSynchronize(stream));  // the texture must outlive the kernels
}

}  // namespace

const CudaSearch texture_search{multipass::runs_here, scratch_bytes, run};

}  // namespace freeflow
