#include <freeflow/io/quiet.h>

#include <itkObject.h>
#include <itk_H5Cpp.h>

namespace freeflow {

void silence_foreign_readers() {
  itk::Object::GlobalWarningDisplayOff();
  H5dont_atexit();
}

}  // namespace freeflow
