// For scripts/tidy_changed and the presets of clang. Debian's ITK knows only the compiler that it
// was built with, g++; included first, this has its header take clang for that one.
#if __has_include(<itk_compiler_detection.h>)
#pragma push_macro("__GNUC__")
#pragma push_macro("__clang__")
#undef __clang__
#undef __GNUC__
#define __GNUC__ 12
#include <itk_compiler_detection.h>
#pragma pop_macro("__GNUC__")
#pragma pop_macro("__clang__")
#endif
