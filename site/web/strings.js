import {Panel, $, large} from './panel.js';

const free = '·';
const args = v => ({Pattern: v.pattern, Length: +v.length, UpTo: v.upto === '1', Fixed: v.fixed.replace(/[ _]/g, free), Model: v.model, Text: v.text, Seed: +v.seed, Samples: 24});
export const panel = new Panel('strings', args, update);
panel.enter = q => panel.fill(q);

async function update() {
  const a = args(panel.values);
  $('strings-text').hidden = a.Model !== 'text';
  const {reply: r} = await panel.engine.call('strings', a);
  $('strings-count').textContent = large(r.Count);
  $('strings-note').textContent = `${r.Count === '1' ? 'string matches' : 'strings match'} (${r.Bits.toFixed(1)} bits). The draws below have an entropy of ${r.Estimated ? 'about ' : ''}${r.Entropy.toFixed(1)} bits.`;
  $('strings-samples').replaceChildren(...r.Samples.map(s => item(s)));
  $('strings-facts').textContent = `${r.States} states, ${r.MS.toFixed(0)} ms. Digest of the draws: ${r.Digest}`;
  heat(r, a);
}
function item(s) {
  const li = document.createElement('li');
  li.textContent = s;
  return li;
}

function heat(r, a) {
  const rows = [];
  // Neighbours in the alphabet that behave alike share a row.
  for (const [c, rune] of r.Alphabet.entries()) {
    const p = r.Marginals.map(m => m[c]), last = rows.at(-1);
    if (last && !a.Fixed.includes(rune) && kind(rune) && kind(rune) === kind(last.to) && last.p.every((v, i) => Math.abs(v - p[i]) < 1e-9)) { last.to = rune; last.n++; }
    else rows.push({from: rune, to: rune, p, n: 1});
  }
  const lines = rows.map(({from, to, p, n}) => line(n > 1 ? `${from}–${to}` : from === ' ' ? 'space' : from, p.map(v => v * n), n > 1 ? null : from));
  if (r.End) lines.push(line('end', r.End, null));
  const head = document.createElement('tr');
  head.append(cell('th', 'character'), ...r.Marginals.map((_, i) => cell('th', i + 1)));
  for (const h of head.children) h.scope = 'col';
  $('heat').tHead.replaceChildren(head);
  $('heat').tBodies[0].replaceChildren(...lines);
}
const kind = c => /[0-9]/.test(c) ? 1 : /[a-z]/.test(c) ? 2 : /[A-Z]/.test(c) ? 3 : 0;

function line(name, p, rune) {
  const tr = document.createElement('tr'), th = cell('th', name);
  th.scope = 'row';
  tr.append(th, ...p.map((v, i) => {
    const td = cell('td', ''), text = v < 1e-12 ? 'never' : v < 0.001 ? 'below 0.1 %' : `${(100 * v).toFixed(1)} %`;
    const hidden = document.createElement('span');
    hidden.className = 'sr'; hidden.textContent = text;
    td.append(hidden);
    td.title = `${name} at ${i + 1}: ${text}`;
    if (v < 1e-12) td.className = 'never';
    else td.style.setProperty('--p', (0.12 + 0.88 * Math.sqrt(Math.min(1, v))).toFixed(3));
    if (rune && v >= 1e-12) td.onclick = () => fix(i, rune);
    return td;
  }));
  return tr;
}
function cell(tag, text) { const e = document.createElement(tag); e.textContent = text; return e; }

function fix(i, rune) { // or free again
  const input = panel.form.elements.fixed, f = [...input.value.padEnd(i + 1, free)];
  f[i] = f[i] === rune ? free : rune;
  input.value = f.join('').replace(/·+$/, '');
  input.dispatchEvent(new Event('input', {bubbles: true}));
}
