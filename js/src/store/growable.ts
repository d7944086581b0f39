/** A typed array that grows by doubling. The store keeps all its columns in such arrays. */

export type TypedArray = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

export class Growable<T extends TypedArray> {
  length = 0;
  private data: T;

  constructor(
    private readonly type: new (length: number) => T,
    capacity = 1024,
  ) {
    this.data = new type(capacity);
  }

  push(value: number): void {
    this.reserve(1);
    this.data[this.length++] = value;
  }

  set(i: number, value: number): void {
    this.data[i] = value;
  }

  append(values: T): void {
    this.reserve(values.length);
    this.data.set(values, this.length);
    this.length += values.length;
  }

  /** Returns the value at index `i`, and 0 if there is none. A negative `i` counts from the end. */
  at(i: number): number {
    return this.data[i < 0 ? this.length + i : i] ?? 0;
  }

  /** Returns the values as a view, which is valid until the next change. */
  view(): T {
    return this.data.subarray(0, this.length) as T;
  }

  /** Returns how many values are less than `value`. The values must be sorted. */
  lowerBound(value: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the index at which to insert `value`, after the values that equal it. The values must be sorted. */
  placeOf(value: number): number {
    if (this.length === 0 || value >= this.at(-1)) return this.length;
    let place = this.lowerBound(value);
    while (this.at(place) === value) place++;
    return place;
  }

  /** Returns the index of `value`, or -1. The values must be sorted. */
  find(value: number): number {
    const at = this.lowerBound(value);
    return at < this.length && this.at(at) === value ? at : -1;
  }

  /** Replaces the values from index `start` up to `end` with `values`. */
  splice(start: number, end: number, values: ArrayLike<number>): void {
    this.reserve(values.length);
    this.data.copyWithin(start + values.length, end, this.length);
    this.data.set(values, start);
    this.length += values.length - (end - start);
  }

  dropFirst(count: number): void {
    this.data.copyWithin(0, count, this.length);
    this.length -= count;
  }

  replace(values: ArrayLike<number>): void {
    this.length = 0;
    this.reserve(values.length);
    this.data.set(values);
    this.length = values.length;
  }

  private reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.data.length) return;
    const grown = new this.type(Math.max(needed, 2 * this.data.length));
    grown.set(this.view());
    this.data = grown;
  }
}
