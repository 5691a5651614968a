#include <freeflow/similarity/overlap.h>

#include <freeflow/similarity/overlap_body.h>

namespace freeflow {

double overlap_fraction(Context& ctx, const ImagePair& images, FieldView<const float> u) {
  require_on_device(ctx, images.fixed, images.moving);
  const std::size_t n = images.fixed.extent().count();
  const ReduceWorkspace work(ctx, n, 2);
  Buffer<double> scalars(ctx, 2);
  reduce(
      ctx, n, 2,
      OverlapBody{{}, images.fixed.view().data, images.moving.view(), {images.fixed_to_moving, u}},
      work, scalars.data());
  const std::vector<double> s = scalars.to_host(ctx);
  if (ctx.rehearses()) return 1;
  return s[0] > 0 ? s[1] / s[0] : 0.0;
}

}  // namespace freeflow
