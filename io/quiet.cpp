#include <freeflow/io/quiet.h>

#include <iostream>

#include <itkObject.h>
#include <itk_H5Cpp.h>

#include <freeflow/io/mesh_quiet.h>

namespace freeflow {

void silence_foreign_readers() {
  itk::Object::GlobalWarningDisplayOff();
  std::cerr.setstate(std::ios::failbit);  // MetaIO's place for them
  H5dont_atexit();
  silence_mesh_readers();
}

}  // namespace freeflow
