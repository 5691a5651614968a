// For programs: ITK, HDF5 and VTK print warnings of their own on stderr. The library leaves that as
// it is, for it is a setting of the whole process; a program that reports in its own words turns it
// off.
#pragma once

namespace freeflow {

/// Turns ITK's and VTK's warnings off and with them std::cerr (stderr stays), and what HDF5 says of
/// a damaged file when the process ends. Process-wide; call it once, before reading.
void silence_foreign_readers();

}  // namespace freeflow
