// Halves of the host's compiler; conversions round to the nearest even number, as __float2half_rn
// does.
#pragma once

using __half = _Float16;
inline __half __float2half_rn(float v) { return __half(v); }
inline float __half2float(__half v) { return float(v); }
