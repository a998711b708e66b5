// The library as WebAssembly. Nothing is imported here, so that it is fetched and compiled
// while the page and its other scripts are still on their way.

let module;

async function load() {
  const response = await fetch('gibbsite.wasm.gz');
  if (!response.ok) throw new Error(`gibbsite.wasm.gz: ${response.status} ${response.statusText}`);
  const reader = response.body.getReader();
  const first = (await reader.read()).value;
  const body = new ReadableStream({
    start(c) { c.enqueue(first); },
    async pull(c) { const {done, value} = await reader.read(); if (done) c.close(); else c.enqueue(value); },
  });
  const packed = first[0] === 0x1f && first[1] === 0x8b; // some servers unpack .gz themselves
  const bytes = packed ? body.pipeThrough(new DecompressionStream('gzip')) : body;
  return WebAssembly.compileStreaming(new Response(bytes, {headers: {'Content-Type': 'application/wasm'}}));
}

// program resolves to the compiled library; after a failure the next call tries again.
export function program() {
  return module ??= load().catch(e => { module = undefined; throw e; });
}
program().catch(() => {}); // whoever needs it is told
