// Private: bins of 8 or 16 bits, several to a 32-bit word of shared memory, that may overflow. A
// bin of a word cannot be updated on its own, so an overflow is settled by arithmetic: the addition
// that carries out of a bin sees it in the word that the atomic returned, moves the bin's full
// range to global memory and takes the carry back out of the neighbour, itself an addition that may
// borrow. Counts are exact whatever the interleaving, since the word modulo 2^32 always is the sum
// of what was added.
#pragma once

namespace freeflow {

/// Adds `amount` to bin `place` of packed words. spill(bin, count) is called for what moves to
/// global memory, count modulo 2^64. True when a bin overflowed.
template <int bits, class Spill>
__device__ bool add_packed(unsigned* words, unsigned place, unsigned amount, const Spill& spill) {
  constexpr unsigned per_word = 32 / bits, carries = bits == 8 ? 0x01010100 : 0x00010000;
  constexpr unsigned long long range = 1ull << bits;
  unsigned* word = words + place / per_word;
  unsigned delta = amount << (bits * (place % per_word)), old = atomicAdd(word, delta);
  for (bool taking = false;; taking = !taking) {
    const unsigned now = taking ? old - delta : old + delta;
    const unsigned carry = (old ^ now ^ delta) & carries;
    const bool out = taking ? old < delta : now < old;
    if (!carry && !out) return taking;
    for (unsigned k = 0; k < per_word; ++k)
      if (k + 1 == per_word ? out : carry >> (bits * (k + 1)) & 1)
        spill(place / per_word * per_word + k, taking ? 0 - range : range);
    if (!carry) return true;
    delta = carry;
    old = taking ? atomicAdd(word, delta) : atomicSub(word, delta);
  }
}

}  // namespace freeflow
