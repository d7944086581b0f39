/** The twin of `pack` in `wire.py`. */
export function pack(arrays) {
  const columns = [];
  let offset = 0;
  for (const [name, array] of Object.entries(arrays)) {
    const dtype = array.constructor.name.replace("Array", "").toLowerCase();
    columns.push({ name, dtype, offset, length: array.length });
    offset += Math.ceil(array.byteLength / 8) * 8;
  }
  const bytes = new Uint8Array(offset);
  Object.values(arrays).forEach((array, i) => {
    bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), columns[i].offset);
  });
  return { columns, buffer: bytes.buffer };
}
