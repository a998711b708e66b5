import {Panel, $, color, figure} from './panel.js';
import {plot} from './plot.js';

const chains = 4;
let playing = !matchMedia('(prefers-reduced-motion: reduce)').matches, started, history, buffer, frames = 0, anew = true, shown = false, token = 0, spent = 0, made = 0;

const args = v => ({Levels: +v.levels, Side: +v.side, Method: v.method, Temperature: +v.temperature, Field: +v.field, Seed: +v.seed});
export const panel = new Panel('lattice', args, start);

async function start() {
  const mine = ++token, a = args(panel.values);
  const {reply} = await panel.engine.call('lattice/start', {...a, Anew: anew});
  anew = false;
  started = {...reply, ...a};
  history = {x: [], y: Array.from({length: chains}, () => [])};
  buffer = new ArrayBuffer(chains * a.Side * a.Side);
  spent = made = 0;
  $('lattice-critical').textContent = `Critical temperature of the infinite lattice: ${figure(reply.Critical)}.`;
  await frame(playing ? 2 ** panel.values.speed : 1);
  if (!shown) { shown = true; performance.mark('first-frame'); }
  if (playing) requestAnimationFrame(() => loop(mine));
}

async function loop(mine) {
  if (mine !== token || !playing || panel.section.hidden) return;
  try {
    await frame(2 ** panel.values.speed);
  } catch (e) {
    if (mine === token) { play(false); panel.fail(e); anew = true; }
    return;
  }
  requestAnimationFrame(() => loop(mine));
}

async function frame(steps) {
  const side = started.Side;
  const {reply, pixels} = await panel.engine.call('lattice/run', {Steps: steps, MS: 40}, buffer);
  buffer = pixels;
  draw(new Uint8Array(pixels), side);
  const r = reply;
  if (history.x.at(-1) !== r.Steps) {
    history.x.push(r.Steps);
    r.Order.forEach((o, c) => history.y[c].push(o));
    if (history.x.length > 600) { // every other point
      history.x = history.x.filter((_, i) => i % 2);
      history.y = history.y.map(y => y.filter((_, i) => i % 2));
    }
  }
  spent += r.MS; made += steps;
  if (frames++ % 6 === 0 || !playing) tell(r);
}

function draw(states, side) {
  const canvas = $('spins'), gap = Math.max(1, Math.round(side / 32)), n = 2 * side + gap;
  if (canvas.width !== n) canvas.width = canvas.height = n;
  const c = canvas.getContext('2d'), image = c.createImageData(n, n), pixels = new Uint32Array(image.data.buffer);
  const palette = Array.from({length: started.Levels}, (_, l) => packed(color(started.Levels === 2 ? `--spin-${l}` : `--level-${l}`)));
  for (let k = 0; k < chains; k++) {
    const at = (k >> 1) * (side + gap) * n + (k & 1) * (side + gap), from = k * side * side;
    for (let i = 0; i < side; i++) for (let j = 0; j < side; j++) pixels[at + i * n + j] = palette[states[from + i * side + j]];
  }
  c.putImageData(image, 0, 0);
}
const packed = hex => { const v = parseInt(hex.slice(1), 16); return 0xff000000 | (v & 0xff) << 16 | (v & 0xff00) | v >> 16; };

function tell(r) {
  const set = (id, text) => { $(id).textContent = text; };
  const row = (name, mean, error, known) => {
    set(`${name}-mean`, mean === null ? '–' : error === null ? figure(mean) : `${figure(mean)} ± ${figure(error)}`);
    set(`${name}-exact`, known ? figure(known.Value) : 'not known');
    set(`${name}-off`, known && error && !/infinite/.test(known.Source) ? `${figure((mean - known.Value) / error, 1)} s.e.` : '–');
  };
  row('order', r.Mean, r.MCSE, started.Order);
  row('energy', r.Energy, r.EnergyMCSE, started.Energy);
  const sources = [...new Set([started.Order?.Source, started.Energy?.Source].filter(Boolean))];
  set('lattice-source', `${sources.length ? `Exact: ${sources.join('; ')}. ` : ''}Means are of the later half of the run, ${r.Draws.toLocaleString('en')} draws; ± is one standard error.`);
  set('rhat', figure(r.RHat, 3)); set('ess', r.ESS === null ? '–' : Math.round(r.ESS).toLocaleString('en'));
  set('steps', r.Steps.toLocaleString('en')); set('accept', `${(100 * r.Accept).toFixed(0)} %`);
  set('lattice-digest', r.Digest ? `Digest of all states after step ${r.DigestOf.toLocaleString('en')}: ${r.Digest}` : '');
  set('lattice-rate', spent ? `${(made * chains * started.Side ** 2 / spent / 1000).toFixed(1)} million sites per second` : '');
  const advice = $('lattice-advice');
  const good = r.RHat !== null && r.RHat < 1.01 && r.ESS > 400;
  advice.className = `advice ${r.RHat === null ? '' : good ? 'good' : 'bad'}`;
  const text = r.RHat === null ? 'Too few draws to tell.' : good ? 'The chains agree: R-hat is below 1.01 and there are more than 400 effective draws.'
    : r.RHat >= 1.01 ? 'The chains do not agree yet: R-hat is 1.01 or more. Do not trust the means; wait, or try a cluster method.' : 'The chains agree, but there are few effective draws. Wait.';
  if (advice.textContent !== text) advice.textContent = text;
  $('spins').ariaLabel = `Four ${started.Levels === 2 ? 'Ising' : 'Potts'} lattices of ${started.Side} by ${started.Side} sites, order ${r.Order.map(o => o.toFixed(2)).join(', ')}`;
  const levels = started.Order ? [{y: started.Order.Value, name: /infinite/.test(started.Order.Source) ? '|m| of the infinite lattice' : 'exact mean of |m|'}] : [];
  const low = Math.min(...history.y.flat(), started.Levels === 2 ? -1 : 0);
  plot($('trace'), {curves: history.y.map((y, c) => ({x: history.x, y, color: color(`--line-${c + 1}`)})), levels, low, high: 1, label: 'steps'});
}

function play(on) {
  playing = on;
  $('play').textContent = on ? 'Pause' : 'Play';
  if (on) loop(token);
}
$('play').onclick = () => play(!playing);
$('once').onclick = async () => { play(false); try { await frame(1); } catch (e) { panel.fail(e); } };
$('anew').onclick = () => { anew = true; panel.run(); };
if (!playing) $('play').textContent = 'Play';
const changed = panel.changed.bind(panel);
panel.changed = name => { if (name !== 'speed') changed(name); };
panel.cancel = () => { token++; anew = true; panel.engine.stop(); play(false); };
panel.enter = q => { anew = true; panel.fill(q); };
