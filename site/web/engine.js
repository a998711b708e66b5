// The way from a tab to the library: one worker a tab, so that a tab that is cancelled
// takes no other with it.

import {started} from './program.js';

export class Cancelled extends Error {}

export class Engine {
  #name; #worker; #calls = new Map(); #next = 1; // #worker is a promise

  constructor(name) { this.#name = name; }

  async #start() {
    const worker = await started(this.#name);
    worker.onerror = e => this.stop(new Error(e.message || 'the worker failed'));
    worker.onmessage = ({data}) => {
      if (data.ended) return this.stop(new Error('the program ended: reload the page'));
      const call = this.#calls.get(data.id);
      this.#calls.delete(data.id);
      if (data.reply.Error) call.reject(new Error(data.reply.Error));
      else call.resolve(data);
    };
    return worker;
  }

  // call resolves to {reply, pixels}. pixels, if given, is a buffer to be filled.
  async call(name, args, pixels) {
    const mine = this.#worker ??= this.#start();
    let worker;
    try {
      worker = await mine;
    } catch (e) {
      if (this.#worker === mine) this.#worker = undefined; // the next call tries again
      throw e;
    }
    if (this.#worker !== mine) throw new Cancelled('cancelled'); // while it started
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, {resolve, reject});
      worker.postMessage({id, name, args, pixels}, pixels ? [pixels] : []);
    });
  }

  // stop ends the worker; the next call starts another.
  stop(reason = new Cancelled('cancelled')) {
    this.#worker?.then(worker => worker.terminate(), () => {});
    this.#worker = undefined;
    for (const c of this.#calls.values()) c.reject(reason);
    this.#calls.clear();
  }
}
