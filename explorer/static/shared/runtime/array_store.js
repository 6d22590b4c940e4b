/* Fetch large arrays from the server, once per address. They travel as safetensors: eight bytes with the length of a
   header, the header (JSON: type, shape and offsets of each array), the arrays. */

const KINDS = { F32: Float32Array, I32: Int32Array, U16: Uint16Array, U8: Uint8Array };
const KEPT = 24; // addresses whose arrays are held in memory
const AGAIN = [200, 1000, 3000]; // ms before each repeated request
const requests = new Map();

/** Parse the bytes of a file into {name: {shape, data}}; `data` is a view of the buffer. */
export function unpackArrays(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const arrays = {};
  delete header.__metadata__;
  for (const [
    name,
    {
      dtype,
      shape,
      data_offsets: [start, end],
    },
  ] of Object.entries(header)) {
    const Kind = KINDS[dtype];
    arrays[name] = { shape, data: new Kind(buffer, 8 + length + start, (end - start) / Kind.BYTES_PER_ELEMENT) };
  }
  return arrays;
}

/** Return the arrays at an address, fetched once for all components. */
export function loadArrays(address) {
  let request = requests.get(address);
  requests.delete(address); // the most recently used address is dropped last
  request ??= fetchArrays(address).catch((error) => {
    requests.delete(address); // so that the next request tries again
    throw error;
  });
  requests.set(address, request);
  if (requests.size > KEPT) requests.delete(requests.keys().next().value);
  return request;
}

async function fetchArrays(address) {
  for (const wait of [...AGAIN, null]) {
    const answer = await fetch(address).catch(() => null);
    if (answer?.ok) return unpackArrays(await answer.arrayBuffer());
    if (wait !== null) await new Promise((done) => setTimeout(done, wait)); // between two runs of the page it may not be there
  }
  throw new Error("not there");
}
