#include <freeflow/similarity/overlap.h>

#include <atomic>

#include <freeflow/deform/row_cells.h>
#include <freeflow/similarity/overlap_body.h>

namespace freeflow {

/// Both terms count, so in whatever order they are added up, the sums are the same.
template <>
void reduce(backend::Cpu cpu, std::size_t, int, const OverlapBody& body, double*, double* result) {
  std::atomic<std::size_t> valid = 0, both = 0;
  const Extent extent = body.point.u.extent;
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const OverlapBody local = body;
    const float* const fixed = local.fixed + extent.offset(x, y, z);
    RowCells cells;
    cells.locate(local.moving.extent, n, [&](int i) { return local.point(x + i, y, z); });
    cells.fetch(local.moving.data);
    int of_fixed = 0, of_both = 0;
    for (int i = 0; i < n; ++i) {
      const int counts = is_finite(fixed[i]) ? 1 : 0;
      of_fixed += counts;
      of_both += is_finite(cells.value(i)) ? counts : 0;
    }
    valid.fetch_add(std::size_t(of_fixed), std::memory_order_relaxed);
    both.fetch_add(std::size_t(of_both), std::memory_order_relaxed);
  });
  result[0] = double(valid);
  result[1] = double(both);
}

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
