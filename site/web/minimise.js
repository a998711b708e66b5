import {Panel, $, color, figure} from './panel.js';
import {plot} from './plot.js';

let name = '';
const args = v => ({Name: name, Text: v.text, Format: v.format, Seed: +v.seed, Rounds: 2 ** v.rounds});
export const panel = new Panel('minimise', args, update);

// examples are files small enough to write here.
const examples = {
  piles: '# numbers 4 5 6 7 8 12 14 in two piles: (Σ a_i s_i)², spins\n' + pairs([4, 5, 6, 7, 8, 12, 14]),
  cut: rudy(120),
  cover: 'p qubo 0 5 5 5\n0 0 -1\n1 1 -1\n2 2 -1\n3 3 -1\n4 4 -1\n0 1 2\n1 2 2\n2 3 2\n3 4 2\n0 4 2\n',
};
function pairs(a) { return a.flatMap((v, i) => a.slice(i + 1).map((w, j) => `${i} ${i + 1 + j} ${2 * v * w}`)).join('\n') + '\n'; }
function rudy(n) { // a ring with chords
  const edges = new Set();
  for (let i = 0; i < n; i++) for (const k of [1, 7, 31]) edges.add(`${i + 1} ${(i + k) % n + 1} ${(i * 37 + k * 11) % 5 < 2 ? -1 : 1}`);
  return `${n} ${edges.size}\n${[...edges].join('\n')}\n`;
}
panel.enter = q => {
  const example = q.get('example') ?? 'cut';
  panel.form.elements.text.defaultValue = examples[example] ?? '';
  panel.form.elements.format.value = '';
  name = '';
  panel.fill(q);
  if (!q.has('format') && example === 'piles') { panel.form.elements.format.value = 'spins'; panel.remember(); }
};

panel.form.elements.file.onchange = async e => {
  const [file] = e.target.files;
  if (!file) return;
  name = file.name;
  panel.form.elements.format.value = '';
  panel.form.elements.text.value = await file.text();
  panel.run();
};
// A file may be long: the address keeps it only where it is short.
const remember = panel.remember.bind(panel);
panel.remember = () => { if (panel.form.elements.text.value.length < 4000) remember(); };

async function update() {
  const v = panel.values, rounds = 2 ** v.rounds;
  const {reply: p} = await panel.engine.call('minimise/start', args(v));
  $('minimise-problem').textContent = `${p.Format}: ${p.Sites.toLocaleString('en')} variables, ${p.Pairs.toLocaleString('en')} pairs`;
  const curve = {x: [], y: [], color: color('--line-1')}, what = p.Cut ? 'cut' : 'energy';
  let found, best;
  for (let done = 0; done < rounds;) {
    const {reply: f} = await panel.engine.call('minimise/run', {Rounds: rounds, MS: 60});
    done = f.Rounds;
    best = p.Cut ? f.Cut : f.Energy;
    curve.x.push(Math.round(f.Spent)); curve.y.push(best);
    $('best').textContent = best.toLocaleString('en', {maximumFractionDigits: 6});
    found = `is the ${p.Cut ? 'largest cut' : 'lowest energy'} found in ${f.Rounds} ${f.Rounds === 1 ? 'round' : 'rounds'} and ${figure(f.Spent / 1000, 2)} s.`;
    $('minimise-note').textContent = found;
    $('minimise-state').textContent = state(f.State, p.Labels);
    $('minimise-facts').textContent = `Digest of the state: ${f.Digest}`;
    plot($('curve'), {curves: [curve], low: Math.min(...curve.y), high: Math.max(...curve.y), label: `best ${what} by milliseconds of search`});
  }
  const {reply: b} = await panel.engine.call('minimise/bound', {});
  const bound = b.Bound?.toLocaleString('en', {maximumFractionDigits: 6});
  $('minimise-note').textContent = `${found} ${b.Bound === null ? 'No bound was found within five seconds.'
    : Math.abs(best - b.Bound) <= 1e-9 * Math.abs(best) ? `It is optimal, by ${b.Method}.` : `No state has a ${p.Cut ? 'larger' : 'lower'} one than ${bound}, by ${b.Method}.`}`;
}
const state = (s, labels) => labels?.length && labels.length <= 60 ? labels.map((l, i) => `${l}=${s[i]}`).join(' ') : s.length > 2000 ? `${s.slice(0, 2000)}…` : s;
