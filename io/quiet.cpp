#include <freeflow/io/quiet.h>

#include <itkObject.h>
#include <itk_H5Cpp.h>

#include <freeflow/io/mesh_quiet.h>

namespace freeflow {

void silence_foreign_readers() {
  itk::Object::GlobalWarningDisplayOff();
  H5dont_atexit();
  silence_mesh_readers();
}

}  // namespace freeflow
