import {Panel, $} from './panel.js';

export const panel = new Panel('bits', () => ({}), update);
let native;
panel.enter = q => panel.fill(q);

async function update() {
  native ??= await (await fetch('bits.json')).json();
  const seed = +panel.values.seed, known = native[seed];
  const rows = Object.keys(native[1]).map(name => {
    const tr = document.createElement('tr'), th = document.createElement('th');
    th.scope = 'row'; th.textContent = name;
    tr.append(th, ...[known?.[name] ?? 'not shipped', '…', ''].map(text => { const td = document.createElement('td'); td.textContent = text; return td; }));
    return tr;
  });
  $('bits-table').tBodies[0].replaceChildren(...rows);
  $('bits-result').textContent = '';
  let equal = 0;
  for (const tr of rows) {
    const [name, ours, here, same] = tr.cells;
    const {reply} = await panel.engine.call('bits', {Name: name.textContent, Seed: seed});
    here.textContent = reply.Digest;
    same.textContent = !known ? '' : reply.Digest === ours.textContent ? 'equal' : 'different';
    equal += same.textContent === 'equal';
  }
  $('bits-result').textContent = known ? `${equal} of ${rows.length} digests are equal.` : `Done. Native digests are shipped for the seeds ${Object.keys(native).join(', ')}.`;
}
