// HSalsa20 of a key and sixteen zero bytes. v1 applies it to the raw X25519 value before the key derivation.

const constants = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const

/** @param key 32 bytes @returns 32 bytes */
export function hsalsa20(key: Uint8Array): Uint8Array {
  const input = new DataView(key.buffer, key.byteOffset, 32)
  const word = (index: number) => input.getInt32(index * 4, true)
  // The 4 × 4 square, row by row: constants on the diagonal, the (zero) input x6 … x9, the key around them.
  let [x0, x5, x10, x15] = constants as readonly [number, number, number, number]
  let [x1, x2, x3, x4] = [word(0), word(1), word(2), word(3)]
  let [x11, x12, x13, x14] = [word(4), word(5), word(6), word(7)]
  let [x6, x7, x8, x9] = [0, 0, 0, 0]

  for (let round = 0; round < 20; round += 2) {
    // The columns.
    x4 ^= rotate(x0 + x12, 7)
    x8 ^= rotate(x4 + x0, 9)
    x12 ^= rotate(x8 + x4, 13)
    x0 ^= rotate(x12 + x8, 18)
    x9 ^= rotate(x5 + x1, 7)
    x13 ^= rotate(x9 + x5, 9)
    x1 ^= rotate(x13 + x9, 13)
    x5 ^= rotate(x1 + x13, 18)
    x14 ^= rotate(x10 + x6, 7)
    x2 ^= rotate(x14 + x10, 9)
    x6 ^= rotate(x2 + x14, 13)
    x10 ^= rotate(x6 + x2, 18)
    x3 ^= rotate(x15 + x11, 7)
    x7 ^= rotate(x3 + x15, 9)
    x11 ^= rotate(x7 + x3, 13)
    x15 ^= rotate(x11 + x7, 18)
    // The rows.
    x1 ^= rotate(x0 + x3, 7)
    x2 ^= rotate(x1 + x0, 9)
    x3 ^= rotate(x2 + x1, 13)
    x0 ^= rotate(x3 + x2, 18)
    x6 ^= rotate(x5 + x4, 7)
    x7 ^= rotate(x6 + x5, 9)
    x4 ^= rotate(x7 + x6, 13)
    x5 ^= rotate(x4 + x7, 18)
    x11 ^= rotate(x10 + x9, 7)
    x8 ^= rotate(x11 + x10, 9)
    x9 ^= rotate(x8 + x11, 13)
    x10 ^= rotate(x9 + x8, 18)
    x12 ^= rotate(x15 + x14, 7)
    x13 ^= rotate(x12 + x15, 9)
    x14 ^= rotate(x13 + x12, 13)
    x15 ^= rotate(x14 + x13, 18)
  }

  // No final addition. The output words are those from which the key cannot be computed, even with a known input.
  const output = new Uint8Array(32)
  const view = new DataView(output.buffer)
  for (const [index, value] of [x0, x5, x10, x15, x6, x7, x8, x9].entries()) view.setInt32(index * 4, value, true)
  return output
}

function rotate(sum: number, bits: number): number {
  return (sum << bits) | (sum >>> (32 - bits))
}
