// Reads MessagePack, as the scripts answer it. Strings come as bytes: the caller knows which of them are text.

export type Unpacked = undefined | boolean | number | Buffer | Unpacked[] | { [key: string]: Unpacked }

export class Unpacker {
  readonly buffer: Buffer
  #at = 0

  constructor(buffer: Buffer) {
    this.buffer = buffer
  }

  /** The next value. */
  next(): Unpacked {
    const buffer = this.buffer
    const byte = buffer[this.#at++]!
    if (byte < 0x80) return byte
    if (byte < 0x90) return this.#map(byte & 15)
    if (byte < 0xa0) return this.#array(byte & 15)
    if (byte < 0xc0) return this.bytes(byte & 31)
    if (byte >= 0xe0) return byte - 0x100
    switch (byte) {
      case 0xc0:
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xca:
        return buffer.readFloatBE(this.skip(4))
      case 0xcb:
        return buffer.readDoubleBE(this.skip(8))
      case 0xcc:
        return buffer[this.skip(1)]!
      case 0xcd:
        return buffer.readUInt16BE(this.skip(2))
      case 0xce:
        return buffer.readUInt32BE(this.skip(4))
      case 0xcf: {
        const at = this.skip(8)
        return buffer.readUInt32BE(at) * 0x100000000 + buffer.readUInt32BE(at + 4)
      }
      case 0xd0:
        return buffer.readInt8(this.skip(1))
      case 0xd1:
        return buffer.readInt16BE(this.skip(2))
      case 0xd2:
        return buffer.readInt32BE(this.skip(4))
      case 0xd3: {
        const at = this.skip(8)
        return buffer.readInt32BE(at) * 0x100000000 + buffer.readUInt32BE(at + 4)
      }
      case 0xc4:
      case 0xd9:
        return this.bytes(buffer[this.skip(1)]!)
      case 0xc5:
      case 0xda:
        return this.bytes(buffer.readUInt16BE(this.skip(2)))
      case 0xc6:
      case 0xdb:
        return this.bytes(buffer.readUInt32BE(this.skip(4)))
      case 0xdc:
        return this.#array(buffer.readUInt16BE(this.skip(2)))
      case 0xdd:
        return this.#array(buffer.readUInt32BE(this.skip(4)))
      case 0xde:
        return this.#map(buffer.readUInt16BE(this.skip(2)))
      case 0xdf:
        return this.#map(buffer.readUInt32BE(this.skip(4)))
      default:
        throw new Error(`not MessagePack: byte ${byte} at ${this.#at - 1}`)
    }
  }

  /** The length of the next value, a list. Its items follow. */
  list(): number {
    const byte = this.buffer[this.#at++]!
    if (byte >= 0x90 && byte < 0xa0) return byte & 15
    if (byte === 0xdc) return this.buffer.readUInt16BE(this.skip(2))
    if (byte === 0xdd) return this.buffer.readUInt32BE(this.skip(4))
    throw new Error(`not a list: byte ${byte} at ${this.#at - 1}`)
  }

  /** The next value, a string, as text: without bytes of its own in between. */
  text(): string {
    const byte = this.buffer[this.#at]!
    let length: number
    if (byte >= 0xa0 && byte < 0xc0) length = byte & 31
    else if (byte === 0xd9) length = this.buffer[this.skip(1) + 1]!
    else return String(this.next())
    const from = this.skip(1 + length) + 1
    return this.buffer.toString('utf8', from, from + length)
  }

  /** Moves past so many bytes. Returns where they begin. */
  skip(bytes: number): number {
    const at = this.#at
    this.#at += bytes
    return at
  }

  /** The next bytes, without a copy. */
  bytes(length: number): Buffer {
    const at = this.skip(length)
    return this.buffer.subarray(at, at + length)
  }

  #array(length: number): Unpacked[] {
    const items: Unpacked[] = []
    for (let index = 0; index < length; index++) items.push(this.next())
    return items
  }

  #map(length: number): { [key: string]: Unpacked } {
    const map: { [key: string]: Unpacked } = {}
    for (let index = 0; index < length; index++) {
      const key = String(this.next())
      map[key] = this.next()
    }
    return map
  }
}

export const unpack = (bytes: Buffer): Unpacked => new Unpacker(bytes).next()
