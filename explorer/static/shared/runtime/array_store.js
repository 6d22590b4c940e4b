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
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(header)) {
    const Kind = KINDS[dtype],
      [start, end] = data_offsets;
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

/**
 * Return a function that fetches the arrays of an address, unless they are there or on their way: `arrive` receives them,
 * `fail` is called if they cannot be fetched. What arrives for another address than the last one is dropped. The function
 * returns whether the address is another one.
 */
export function arrayLoader(arrive, fail) {
  let wanted = null;
  return (address) => {
    if (address === wanted) return false;
    wanted = address;
    if (address)
      loadArrays(address).then(
        (arrays) => address === wanted && arrive(arrays),
        () => {
          if (address !== wanted) return;
          wanted = null; // the next call tries again
          fail();
        },
      );
    return true;
  };
}

async function fetchArrays(address) {
  for (const wait of [...AGAIN, null]) {
    const answer = await fetch(address).catch(() => null);
    if (answer?.ok) return unpackArrays(await answer.arrayBuffer());
    if (wait !== null) await new Promise((done) => setTimeout(done, wait)); // between two runs of the page it may not be there
  }
  throw new Error("not there");
}
