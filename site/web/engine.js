// The way from a tab to the library: one worker a tab, so that a tab that is cancelled
// takes no other with it.

import {program} from './program.js';

export class Cancelled extends Error {}

export class Engine {
  #name; #worker; #ready; #calls = new Map(); #next = 1;

  constructor(name) { this.#name = name; }

  async #start() {
    const worker = this.#worker = new Worker('worker.js'); // starts while the program is on its way
    const module = await program(this.#name);
    await new Promise((resolve, reject) => {
      worker.onerror = e => { this.stop(new Error(e.message || 'the worker failed')); reject(new Error(e.message)); };
      worker.onmessage = ({data}) => {
        if (data.ready) return resolve();
        if (data.ended) return this.stop(new Error('the program ended: reload the page'));
        const call = this.#calls.get(data.id);
        this.#calls.delete(data.id);
        if (data.reply.Error) call.reject(new Error(data.reply.Error));
        else call.resolve(data);
      };
      worker.postMessage({module});
    });
  }

  // call resolves to {reply, pixels}. pixels, if given, is a buffer to be filled.
  async call(name, args, pixels) {
    this.#ready ??= this.#start().catch(e => { this.#ready = undefined; throw e; });
    await this.#ready;
    if (!this.#worker) throw new Cancelled('cancelled');
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, {resolve, reject});
      this.#worker.postMessage({id, name, args, pixels}, pixels ? [pixels] : []);
    });
  }

  // stop ends the worker; the next call starts another.
  stop(reason = new Cancelled('cancelled')) {
    this.#worker?.terminate();
    this.#worker = this.#ready = undefined;
    for (const c of this.#calls.values()) c.reject(reason);
    this.#calls.clear();
  }
}
