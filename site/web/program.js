// The library as WebAssembly, a program a tab. Nothing is imported here, so that the first
// one is fetched and compiled, and its worker started, while the page's other scripts are
// still on their way.

const tabs = ['lattice', 'strings', 'json', 'minimise', 'bits'], modules = new Map();

// addressed is the tab that the address names, and its settings.
export function addressed() {
  const [, name, query] = location.hash.match(/^#(\w*)\??(.*)$/s) ?? [];
  return {name: tabs.includes(name) ? name : tabs[0], query: new URLSearchParams(query)};
}

async function load(name) {
  const file = `${name}.wasm.gz`, response = await fetch(file);
  if (!response.ok) throw new Error(`${file}: ${response.status} ${response.statusText}`);
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

// program resolves to the compiled program of a tab; after a failure the next call tries again.
export function program(name) {
  if (!modules.has(name)) modules.set(name, load(name).catch(e => { modules.delete(name); throw e; }));
  return modules.get(name);
}

// start resolves to a worker in which the program of a tab runs. Where the browser refuses one,
// or the program cannot be had, it fails.
export async function start(name) {
  const worker = new Worker('worker.js'); // loads while the program is on its way
  try {
    const module = await program(name);
    performance.mark('compiled');
    await new Promise((resolve, reject) => {
      worker.onerror = e => reject(new Error(e.message || 'the worker failed'));
      worker.onmessage = resolve; // once, when it is ready
      worker.postMessage({module});
    });
  } catch (e) {
    worker.terminate();
    throw e;
  }
  performance.mark('started');
  return worker;
}

let first = {name: addressed().name};
first.worker = start(first.name);
first.worker.catch(() => {}); // whoever needs it is told

// started is start, but returns the worker that was started with the page to the first who asks for it.
export function started(name) {
  if (first?.name !== name) return start(name);
  const {worker} = first;
  first = null;
  return worker;
}
