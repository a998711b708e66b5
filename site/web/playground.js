// Tabs; the address says which, and with what settings.
import {$} from './panel.js';
import {addressed} from './program.js';
import {panel as lattice} from './lattice.js';
import {panel as strings} from './strings.js';
import {panel as json} from './documents.js';
import {panel as minimise} from './minimise.js';
import {panel as bits} from './cases.js';

const panels = {lattice, strings, json, minimise, bits};
const tabs = [...document.querySelectorAll('[role=tab]')];

function show() {
  const {name, query} = addressed(), panel = panels[name];
  for (const t of tabs) {
    const on = t.id === `tab-${name}`;
    t.setAttribute('aria-selected', on);
    t.tabIndex = on ? 0 : -1;
    $(t.getAttribute('aria-controls')).hidden = !on;
  }
  panel.enter(query);
}
tabs.forEach((t, i) => {
  t.onclick = () => { // no jump to the panel, which would scroll and take the focus off the tab
    history.pushState(null, '', `#${t.getAttribute('aria-controls')}`);
    show();
  };
  t.onkeydown = e => {
    const to = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1}[e.key];
    if (to === undefined) return;
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus(); next.click(); e.preventDefault();
  };
});
addEventListener('hashchange', show);
const source = $('source');
$('copy').onclick = async () => {
  await navigator.clipboard.writeText(source.querySelector('code').textContent);
  $('copied').textContent = 'Copied.';
};
source.addEventListener('close', () => { $('copied').textContent = ''; });
show();
