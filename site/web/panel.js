// What tabs share: a form whose values stand in the address, a line that says what is
// going on, Cancel, and the Go program.
import {Engine, Cancelled} from './engine.js';

export const $ = (id, within = document) => within.querySelector(`#${id}`);
export const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const figure = (v, digits = 4) => v === null || v === undefined ? '–' : v.toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits});

// large groups the digits of a number written out, and shortens it from 40 digits on.
export function large(s) {
  if (s.length > 40) return `${s[0]}.${s.slice(1, 4)} × 10^${s.length - 1}`;
  return s.replace(/\B(?=(\d{3})+$)/g, '\u2009');
}

export class Panel {
  // name is that of the tab; args makes the arguments of its call from the form's values.
  constructor(name, args, update) {
    this.name = name;
    this.args = args;
    this.engine = new Engine(name);
    this.section = $(name);
    this.form = this.section.querySelector('form');
    this.error = this.section.querySelector('.error');
    this.busy = this.section.querySelector('.busy');
    this.update = update;
    this.form.addEventListener('submit', e => e.preventDefault());
    this.form.addEventListener('input', e => { this.show(); this.remember(); this.changed(e.target.name); });
    this.section.querySelector('.cancel').onclick = () => this.cancel();
    const program = this.section.querySelector('.program');
    if (program) program.onclick = () => this.program();
  }

  get values() { return Object.fromEntries(new FormData(this.form)); }

  // fill sets the form from an address.
  fill(query) {
    this.form.reset();
    for (const [k, v] of query) {
      const input = this.form.elements.namedItem(k);
      if (input && input.type !== 'file') input.value = v;
    }
    this.show();
    this.changed('');
  }

  show() { // what a slider stands at
    for (const o of this.form.querySelectorAll('output')) {
      const v = this.form.elements[o.htmlFor.value].value;
      o.value = o.dataset.power ? (2 ** v).toLocaleString('en') : v;
    }
  }

  remember() {
    const q = new URLSearchParams();
    for (const [k, v] of Object.entries(this.values)) {
      const input = this.form.elements.namedItem(k);
      const preset = input.tagName === 'SELECT' ? ([...input.options].find(o => o.defaultSelected) ?? input.options[0]).value : input.defaultValue;
      if (typeof v === 'string' && v !== preset) q.set(k, v);
    }
    history.replaceState(null, '', `#${this.name}${q.size ? `?${q}` : ''}`);
  }

  changed(name) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), name ? 120 : 0);
  }

  // run makes the update, one at a time; of changes meanwhile the last one counts.
  async run() {
    if (this.running) { this.again = true; return; }
    this.running = true;
    const slow = setTimeout(() => { this.busy.hidden = false; }, 150);
    try {
      await this.update(this);
      this.fail(null);
    } catch (e) {
      this.fail(e);
    } finally {
      clearTimeout(slow);
      this.busy.hidden = true;
      this.running = false;
      if (this.again) { this.again = false; this.run(); }
    }
  }

  fail(e) {
    this.error.hidden = !e;
    if (e) this.error.textContent = e instanceof Cancelled ? 'Cancelled. Change something to go on.' : e.message;
  }

  cancel() { this.again = false; this.engine.stop(); }

  async program() {
    const dialog = $('source');
    try {
      const {reply} = await this.engine.call(`${this.name}/program`, this.args(this.values));
      dialog.querySelector('code').textContent = reply;
      dialog.showModal();
    } catch (e) {
      this.fail(e);
    }
  }
}
