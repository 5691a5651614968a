#include <freeflow/io/transforms/hdf5.h>

#include <itkMatrixOffsetTransformBase.h>
#include <itkTransformFactory.h>
#include <itkTranslationTransform.h>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <utility>

#include <freeflow/io/hdf5_process.h>
#include <freeflow/io/itk_mutex.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/itk_spline.h>
#include <freeflow/io/transforms/stored_grid.h>

namespace freeflow {

namespace {

using Base = itk::TransformBaseTemplate<double>;
using Linear = itk::MatrixOffsetTransformBase<double, 3, 3>;
using Shift = itk::TranslationTransform<double, 3>;

bool is_composite(const StoredTransform& t) { return t.type.starts_with("CompositeTransform"); }
bool is_identity(const StoredTransform& t) {
  return t.type.starts_with("IdentityTransform") && t.type.ends_with("_3_3");
}

/// In double until the last step, so that a field that was written by write_hdf5 has its own bits.
HostField field_of(const std::string& path, const StoredTransform& stored,
                   std::vector<std::string>& warnings) {
  const Geometry grid = grid_of(path, stored, warnings);
  const Eigen::Matrix3d to_voxels = grid.world_to_index().linear();
  const double* const mm = stored.parameters.data();
  return make_field(path, grid, warnings, [&](std::size_t voxel, const Eigen::Vector3d&) {
    return Eigen::Vector3d(to_voxels *
                           Eigen::Vector3d(mm[3 * voxel], mm[3 * voxel + 1], mm[3 * voxel + 2]));
  });
}

HostField first_spline(const std::string& path, const StoredTransform& stored, bool applied_first,
                       const std::optional<Geometry>& fixed, std::vector<std::string>& warnings) {
  if (!applied_first)
    fail_reading(path,
                 "its B-spline displaces what another transform has mapped; only one that is "
                 "applied first can be evaluated at the fixed image's voxels: SimpleITK's "
                 "TransformToDisplacementField, or transformix -def all, makes one field of it");
  return field_of_spline(
      path, stored,
      need(fixed, path, "fixed",
           "its control points are evaluated on the fixed image's grid; regtool convert "
           "makes a field of them"),
      warnings);
}

/// ITK's own class of that name, which knows what its numbers mean. Empty where there is none.
Base::Pointer instance_of(std::string type) {
  const std::lock_guard lock(itk_mutex());
  itk::TransformFactoryBase::RegisterDefaultTransforms();
  // ANTs has written affines under the name of the base class, which ITK's own list lacks.
  itk::TransformFactory<Linear>::RegisterTransform();
  if (const auto precision = type.find("_float_"); precision != std::string::npos)
    type.replace(precision, 7, "_double_");
  const itk::LightObject::Pointer made = itk::ObjectFactoryBase::CreateInstance(type.c_str());
  if (made) made->UnRegister();  // CreateInstance counts one reference too many
  return dynamic_cast<Base*>(made.GetPointer());
}

template <class Parameters>
Parameters itk_numbers(const std::vector<double>& numbers) {
  Parameters parameters(itk::SizeValueType(numbers.size()));
  std::copy(numbers.begin(), numbers.end(), parameters.data_block());
  return parameters;
}

/// ITK reads as many numbers as a transform has, whatever there are.
void require_numbers(const std::string& path, const StoredTransform& stored,
                     const Base& transform) {
  const std::size_t fixed = std::min<std::size_t>(3, transform.GetFixedParameters().Size());
  if (stored.parameters.size() != transform.GetParameters().Size() || stored.fixed.size() < fixed)
    fail_reading(path, "its " + stored.type + " does not have as many numbers as such a one has");
}

Eigen::Affine3d affine_of(const std::string& path, const StoredTransform& stored) {
  const Base::Pointer transform = instance_of(stored.type);
  auto* const linear = dynamic_cast<Linear*>(transform.GetPointer());
  auto* const shift = dynamic_cast<Shift*>(transform.GetPointer());
  if (!linear && !shift)
    fail_reading(path, "it holds a " + stored.type +
                           ", which is neither a linear 3-D transform, a displacement field nor a "
                           "cubic B-spline");
  require_numbers(path, stored, *transform);
  const auto fixed = itk_numbers<Base::FixedParametersType>(stored.fixed);
  const auto parameters = itk_numbers<Base::ParametersType>(stored.parameters);
  transform->SetFixedParameters(fixed);
  transform->SetParametersByValue(parameters);
  transform->SetFixedParameters(fixed);  // once more: VersorTransform had its offset of no rotation
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  for (unsigned row = 0; row < 3; ++row) {
    for (unsigned column = 0; linear && column < 3; ++column)
      affine(row, column) = linear->GetMatrix()(row, column);
    affine(row, 3) = linear ? linear->GetOffset()[row] : shift->GetOffset()[row];
  }
  if (!affine.matrix().allFinite() || affine.linear().determinant() == 0)
    fail_reading(path, "its transform is singular or not finite");
  return affine;
}

StoredTransform stored(const Eigen::Affine3d& affine) {
  StoredTransform transform{"AffineTransform_double_3_3", std::vector<double>(3), {}};
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) transform.parameters.push_back(affine(row, column));
  for (int row = 0; row < 3; ++row) transform.parameters.push_back(affine(row, 3));
  return transform;
}

StoredTransform stored(const HostField& field) {
  const Geometry& grid = field.geometry;
  const std::size_t count = grid.extent.count();
  StoredTransform transform{"DisplacementFieldTransform_double_3_3", numbers_of(grid), {}};
  transform.parameters.resize(3 * count);
  const Eigen::Matrix3d to_world = grid.index_to_world().linear();
  for_each_index(grid.extent, [&](std::size_t voxel, const Eigen::Vector3d&) {
    const Eigen::Vector3d u =
        to_world * Eigen::Vector3d(field.planes[voxel], field.planes[count + voxel],
                                   field.planes[2 * count + voxel]);
    for (std::size_t component = 0; component < 3; ++component)
      transform.parameters[3 * voxel + component] = u[Eigen::Index(component)];
  });
  return transform;
}

}  // namespace

HostTransform read_hdf5(const std::string& path, const std::optional<Geometry>& fixed) {
  return chain_of(path, read_transforms_apart(path), fixed);
}

HostTransform chain_of(const std::string& path, std::vector<StoredTransform> transforms,
                       const std::optional<Geometry>& fixed) {
  if (transforms.empty()) fail_reading(path, "it holds no transform");
  if (is_composite(transforms.front()))
    transforms.erase(transforms.begin());  // its parts follow it
  else if (transforms.size() > 1)
    fail_reading(path, "it holds " + std::to_string(transforms.size()) +
                           " transforms that are not one composite; give them one by one");
  if (transforms.empty()) fail_reading(path, "it holds a composite of no transform");
  HostTransform chain;
  try {
    for (const StoredTransform& one : transforms)
      if (is_displacement_field(one))
        chain.steps.emplace_back(field_of(path, one, chain.warnings));
      else if (is_identity(one))
        chain.steps.emplace_back(Eigen::Affine3d::Identity());
      else if (is_spline(one))
        chain.steps.emplace_back(
            first_spline(path, one, &one == &transforms.back(), fixed, chain.warnings));
      else
        chain.steps.emplace_back(affine_of(path, one));
  } catch (const itk::ExceptionObject&) {
    fail_reading(path, "it is damaged: ITK cannot take the numbers of its transform");
  }
  std::reverse(chain.steps.begin(), chain.steps.end());  // the last is applied first
  return chain;
}

void write_hdf5(const std::string& path, const HostTransform& transform) {
  std::vector<StoredTransform> parts;
  for (const auto& step : transform.steps)
    parts.push_back(std::visit([](const auto& one) { return stored(one); }, step));
  if (parts.empty()) parts.push_back(stored(Eigen::Affine3d::Identity()));
  std::reverse(parts.begin(), parts.end());
  if (parts.size() > 1 || is_displacement_field(parts.front()))
    parts.insert(parts.begin(), {"CompositeTransform_double_3_3", {}, {}});
  write_stored_transforms(path, parts);
}

}  // namespace freeflow
