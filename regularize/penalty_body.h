// Private: the penalties' mathematics. At a node the cubic B-spline and its derivatives need only
// the 27 coefficients around it, with weights value (1 4 1)/6, first (-1 0 1)/2 and second (1 -2 1)
// per axis. A first pass stores derivatives at the nodes, a second gathers each coefficient's force
// from the 27 nodes that it reaches: no atomics, a fixed order.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>

namespace freeflow {

namespace node {
/// Weight of the coefficient `offset` in {-1, 0, 1} from the node, for the derivative of that
/// order.
FREEFLOW_HD float weight(int order, int offset) {
  if (order == 0) return offset == 0 ? 4.0f / 6.0f : 1.0f / 6.0f;
  if (order == 1) return 0.5f * float(offset);
  return offset == 0 ? -2.0f : 1.0f;
}
FREEFLOW_HD bool is_inner(int x, int y, int z, Extent n) {
  return x > 0 && y > 0 && z > 0 && x < n.x - 1 && y < n.y - 1 && z < n.z - 1;
}
}  // namespace node

namespace bending {
inline constexpr int terms = 6;
/// Orders of differentiation of term t along x, y, z: xx, yy, zz, xy, xz, yz.
FREEFLOW_HD int order(int term, int axis) {
  if (term < 3) return term == axis ? 2 : 0;
  return (term == 3 && axis != 2) || (term == 4 && axis != 1) || (term == 5 && axis != 0) ? 1 : 0;
}
/// 1 / (h_a h_b) of a term, times sqrt(2) for the mixed ones, which count twice.
FREEFLOW_HD float scale(int term, const Vec3f& h) {
  const float root2 = 1.41421356f;
  return term == 0   ? 1.0f / (h.x * h.x)
         : term == 1 ? 1.0f / (h.y * h.y)
         : term == 2 ? 1.0f / (h.z * h.z)
         : term == 3 ? root2 / (h.x * h.y)
         : term == 4 ? root2 / (h.x * h.z)
                     : root2 / (h.y * h.z);
}
}  // namespace bending

/// derivatives[(6 c + t) * nodes + i]: scaled second derivative t of component c; 0 at outer nodes.
struct BendingTermsBody {
  FieldView<const float> coefficients;
  Vec3f spacing;
  float* derivatives;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = coefficients.extent;
    const std::size_t count = n.count(), i = n.offset(x, y, z);
    const bool inner = node::is_inner(x, y, z, n);
    for (int c = 0; c < 3; ++c) {
      float d[bending::terms] = {};
      if (inner)
        for (int dz = -1; dz <= 1; ++dz)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
              const float v =
                  coefficients.data[c * count + i + (std::ptrdiff_t(dz) * n.y + dy) * n.x + dx];
              for (int t = 0; t < bending::terms; ++t)
                d[t] = fma_(node::weight(bending::order(t, 0), dx) *
                                node::weight(bending::order(t, 1), dy) *
                                node::weight(bending::order(t, 2), dz),
                            v, d[t]);
            }
      for (int t = 0; t < bending::terms; ++t)
        derivatives[(bending::terms * c + t) * count + i] = d[t] * bending::scale(t, spacing);
    }
  }
};

struct BendingValueBody : SumBody {
  const float* derivatives;
  double one_over_nodes;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    return double(derivatives[i]) * derivatives[i] * one_over_nodes;
  }
};

/// The weights of a second derivative do not change when the offset turns round, so gathering
/// equals spreading.
struct BendingForceBody {
  const float* derivatives;
  Vec3f spacing;
  float factor;  // -2 weight / inner nodes
  FieldView<float> force;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = force.extent;
    const std::size_t count = n.count(), i = n.offset(x, y, z);
    float scale[bending::terms];
    for (int t = 0; t < bending::terms; ++t) scale[t] = bending::scale(t, spacing);
    for (int c = 0; c < 3; ++c) {
      float sum = 0;
      for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) {
            if (!node::is_inner(x + dx, y + dy, z + dz, n)) continue;
            const std::size_t j = i + (std::ptrdiff_t(dz) * n.y + dy) * n.x + dx;
            for (int t = 0; t < bending::terms; ++t)
              sum = fma_(node::weight(bending::order(t, 0), dx) *
                             node::weight(bending::order(t, 1), dy) *
                             node::weight(bending::order(t, 2), dz) * scale[t],
                         derivatives[(bending::terms * c + t) * count + j], sum);
          }
      force.data[c * count + i] = fma_(factor, sum, force.data[c * count + i]);
    }
  }
};

/// Jacobian at a node: cofactors[(3 c + a) * nodes + i] = d (log J)^2 / d (d u_c / d x_a),
/// node_values[i] = (log J)^2.
struct LogJacobianTermsBody {
  static constexpr double smallest = 0.05;
  FieldView<const float> coefficients;
  Vec3f spacing;
  float* cofactors;
  double* node_values;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = coefficients.extent;
    const std::size_t count = n.count(), i = n.offset(x, y, z);
    float g[3][3] = {};
    const bool inner = node::is_inner(x, y, z, n);
    if (inner)
      for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) {
            const std::size_t j = i + (std::ptrdiff_t(dz) * n.y + dy) * n.x + dx;
            const float bx = node::weight(0, dx), by = node::weight(0, dy),
                        bz = node::weight(0, dz);
            const float w[3] = {node::weight(1, dx) * by * bz, bx * node::weight(1, dy) * bz,
                                bx * by * node::weight(1, dz)};
            for (int c = 0; c < 3; ++c)
              for (int a = 0; a < 3; ++a)
                g[c][a] = fma_(w[a], coefficients.data[c * count + j], g[c][a]);
          }
    const float h[3] = {spacing.x, spacing.y, spacing.z};
    for (int c = 0; c < 3; ++c)
      for (int a = 0; a < 3; ++a) g[c][a] = g[c][a] / h[a] + (c == a ? 1.0f : 0.0f);
    float cofactor[3][3];
    for (int c = 0; c < 3; ++c)
      for (int a = 0; a < 3; ++a) {
        const int c1 = (c + 1) % 3, c2 = (c + 2) % 3, a1 = (a + 1) % 3, a2 = (a + 2) % 3;
        cofactor[c][a] = g[c1][a1] * g[c2][a2] - g[c1][a2] * g[c2][a1];
      }
    const double det = double(g[0][0]) * cofactor[0][0] + double(g[0][1]) * cofactor[0][1] +
                       double(g[0][2]) * cofactor[0][2];
    const double j = det > smallest ? det : smallest;
    const double log_j = log_positive(j), slope = 2.0 * log_j / j;
    node_values[i] = inner ? log_j * log_j + slope * (det - j) : 0.0;
    for (int c = 0; c < 3; ++c)
      for (int a = 0; a < 3; ++a)
        cofactors[(3 * c + a) * count + i] = inner ? float(slope) * cofactor[c][a] / h[a] : 0.0f;
  }
};

struct NodeMeanBody : SumBody {
  const double* node_values;
  double one_over_nodes;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    return node_values[i] * one_over_nodes;
  }
};

struct LogJacobianForceBody {
  const float* cofactors;
  float factor;  // -weight / inner nodes
  FieldView<float> force;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = force.extent;
    const std::size_t count = n.count(), i = n.offset(x, y, z);
    for (int c = 0; c < 3; ++c) {
      float sum = 0;
      for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) {
            if (!node::is_inner(x + dx, y + dy, z + dz, n)) continue;
            const std::size_t j = i + (std::ptrdiff_t(dz) * n.y + dy) * n.x + dx;
            // Seen from the node, this coefficient lies at the opposite offset.
            const float bx = node::weight(0, dx), by = node::weight(0, dy),
                        bz = node::weight(0, dz);
            sum = fma_(node::weight(1, -dx) * by * bz, cofactors[(3 * c + 0) * count + j], sum);
            sum = fma_(bx * node::weight(1, -dy) * bz, cofactors[(3 * c + 1) * count + j], sum);
            sum = fma_(bx * by * node::weight(1, -dz), cofactors[(3 * c + 2) * count + j], sum);
          }
      force.data[c * count + i] = fma_(factor, sum, force.data[c * count + i]);
    }
  }
};

/// Forward differences; a node on the far side of an axis has none along it.
struct ForwardDifferences {
  FieldView<const float> coefficients;
  Vec3f one_over_spacing;

  FREEFLOW_HD float operator()(int component, int axis, int x, int y, int z) const {
    const Extent n = coefficients.extent;
    const bool last = axis == 0 ? x == n.x - 1 : axis == 1 ? y == n.y - 1 : z == n.z - 1;
    if (last) return 0;
    const std::size_t stride = axis == 0 ? 1 : axis == 1 ? n.x : std::size_t(n.x) * n.y;
    const float* c = coefficients.data + component * n.count() + n.offset(x, y, z);
    const float h = axis == 0   ? one_over_spacing.x
                    : axis == 1 ? one_over_spacing.y
                                : one_over_spacing.z;
    return (c[stride] - c[0]) * h;
  }
};

struct TotalVariationTermsBody {
  ForwardDifferences difference;
  float rounding;
  float* one_over_length;
  double* node_values;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    float squares = rounding * rounding;
    for (int c = 0; c < 3; ++c)
      for (int a = 0; a < 3; ++a) {
        const float d = difference(c, a, x, y, z);
        squares = fma_(d, d, squares);
      }
    const float length = sqrtf(squares);
    const std::size_t i = difference.coefficients.extent.offset(x, y, z);
    one_over_length[i] = 1.0f / length;
    node_values[i] = double(length) - double(rounding);
  }
};

/// Gathers from the node itself and from the three before it.
struct TotalVariationForceBody {
  ForwardDifferences difference;
  const float* one_over_length;
  float factor;  // -weight / nodes
  FieldView<float> force;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = force.extent;
    const std::size_t i = n.offset(x, y, z);
    const Vec3f h = difference.one_over_spacing;
    for (int c = 0; c < 3; ++c) {
      float sum = 0;
      for (int a = 0; a < 3; ++a) {
        const float one_over_h = a == 0 ? h.x : a == 1 ? h.y : h.z;
        const std::size_t stride = a == 0 ? 1 : a == 1 ? n.x : std::size_t(n.x) * n.y;
        const bool first = a == 0 ? x == 0 : a == 1 ? y == 0 : z == 0;
        const float behind = first ? 0.0f
                                   : difference(c, a, x - (a == 0), y - (a == 1), z - (a == 2)) *
                                         one_over_length[i - stride];
        sum = fma_(one_over_h, behind - difference(c, a, x, y, z) * one_over_length[i], sum);
      }
      float& f = force.data[c * n.count() + i];
      f = fma_(factor, sum, f);
    }
  }
};

}  // namespace freeflow
