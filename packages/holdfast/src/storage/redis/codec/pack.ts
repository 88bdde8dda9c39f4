// Writes MessagePack, as far as the scripts read it: absent fields are false, and text and bytes are one kind of string.
// A Packer is used again: it keeps its buffer between calls.

export type Packed =
  | undefined
  | boolean
  | number
  | string
  | Uint8Array
  | Nested
  | readonly Packed[]
  | { readonly [key: string]: Packed }

/** A list that the reader is given as bytes, and unpacks later. It is packed in place: bytes of its own would be copied. */
export class Nested {
  readonly list: readonly Packed[]

  constructor(list: readonly Packed[]) {
    this.list = list
  }
}

export class Packer {
  #buffer = Buffer.allocUnsafe(16_384)
  #at = 0

  /** The bytes of a value, as a copy. */
  pack(value: Packed): Buffer {
    this.#at = 0
    this.#value(value)
    const bytes = Buffer.from(this.#buffer.subarray(0, this.#at))
    // Do not keep the buffer of one large batch.
    if (this.#buffer.length > 1_048_576) this.#buffer = Buffer.allocUnsafe(16_384)
    return bytes
  }

  #value(value: Packed): void {
    if (typeof value === 'string') this.#text(value)
    else if (typeof value === 'number') this.#number(value)
    else if (value === undefined || value === false) this.#byte(0xc2)
    else if (value === true) this.#byte(0xc3)
    else if (value instanceof Uint8Array) this.#bytes(value)
    else if (value instanceof Nested) this.#nested(value.list)
    else if (Array.isArray(value)) {
      this.#head(value.length, 0x90, 15, 0xdc)
      for (const item of value as readonly Packed[]) this.#value(item)
    } else {
      const entries = Object.entries(value)
      this.#head(entries.length, 0x80, 15, 0xde)
      for (const [key, item] of entries) {
        this.#text(key)
        this.#value(item)
      }
    }
  }

  #room(bytes: number): Buffer {
    if (this.#at + bytes > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#at + bytes))
      this.#buffer.copy(larger, 0, 0, this.#at)
      this.#buffer = larger
    }
    return this.#buffer
  }

  #byte(byte: number): void {
    this.#room(1)[this.#at++] = byte
  }

  /** The head of an array or a map: a length up to `most` is in the first byte, a greater one in the next two or four. */
  #head(length: number, short: number, most: number, long: number): void {
    const buffer = this.#room(5)
    if (length <= most) buffer[this.#at++] = short | length
    else if (length < 0x10000) {
      buffer[this.#at] = long
      this.#at = buffer.writeUInt16BE(length, this.#at + 1)
    } else {
      buffer[this.#at] = long + 1
      this.#at = buffer.writeUInt32BE(length, this.#at + 1)
    }
  }

  #stringHead(length: number): void {
    const buffer = this.#room(5 + length)
    if (length < 32) buffer[this.#at++] = 0xa0 | length
    else if (length < 0x100) {
      buffer[this.#at++] = 0xd9
      buffer[this.#at++] = length
    } else if (length < 0x10000) {
      buffer[this.#at] = 0xda
      this.#at = buffer.writeUInt16BE(length, this.#at + 1)
    } else {
      buffer[this.#at] = 0xdb
      this.#at = buffer.writeUInt32BE(length, this.#at + 1)
    }
  }

  #text(text: string): void {
    // Nearly all texts are short: they are written without counting their bytes first.
    const { length } = text
    if (length < 32) {
      const buffer = this.#room(1 + 3 * length)
      const written = buffer.write(text, this.#at + 1)
      if (written < 32) {
        buffer[this.#at] = 0xa0 | written
        this.#at += 1 + written
        return
      }
    }
    const bytes = Buffer.byteLength(text)
    this.#stringHead(bytes)
    this.#at += this.#buffer.write(text, this.#at)
  }

  #bytes(bytes: Uint8Array): void {
    this.#stringHead(bytes.length)
    this.#buffer.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** A string of up to 64 KiB, whose length is known afterwards; a longer one is moved behind a longer head. */
  #nested(list: readonly Packed[]): void {
    const start = this.#at
    this.#room(5)
    this.#at += 3
    this.#value(list)
    const length = this.#at - start - 3
    if (length >= 0x10000) {
      this.#room(2).copyWithin(start + 5, start + 3, this.#at)
      this.#buffer[start] = 0xdb
      this.#buffer.writeUInt32BE(length, start + 1)
      this.#at += 2
    } else {
      this.#buffer[start] = 0xda
      this.#buffer.writeUInt16BE(length, start + 1)
    }
  }

  #number(value: number): void {
    const buffer = this.#room(9)
    if (Number.isInteger(value) && value >= -0x80000000 && value <= 0xffffffff) {
      if (value >= 0 && value < 0x80) buffer[this.#at++] = value
      else if (value >= 0) {
        buffer[this.#at] = 0xce
        this.#at = buffer.writeUInt32BE(value, this.#at + 1)
      } else {
        buffer[this.#at] = 0xd2
        this.#at = buffer.writeInt32BE(value, this.#at + 1)
      }
    } else {
      buffer[this.#at] = 0xcb
      this.#at = buffer.writeDoubleBE(value, this.#at + 1)
    }
  }
}
