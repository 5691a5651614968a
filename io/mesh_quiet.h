// Private to io: VTK's part of quiet.h.
#pragma once

namespace freeflow {

/// Turns VTK's warnings off where the build has it. Process-wide.
void silence_mesh_readers();

}  // namespace freeflow
