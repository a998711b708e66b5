// Runs the library.
importScripts('wasm_exec.js');

let library;

self.onmessage = async ({data}) => {
  if (data.module) {
    const go = new Go();
    const up = new Promise(resolve => { self.ready = resolve; });
    go.run(await WebAssembly.instantiate(data.module, go.importObject)).then(() => self.postMessage({ended: true}));
    library = await up;
    self.postMessage({ready: true});
    return;
  }
  const {id, name, args, pixels} = data;
  library.call(name, JSON.stringify(args), text => {
    const reply = JSON.parse(text);
    if (!pixels) return self.postMessage({id, reply});
    library.pixels(new Uint8Array(pixels));
    self.postMessage({id, reply, pixels}, [pixels]);
  });
};
