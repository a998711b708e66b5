// Curves on a canvas.
import {color} from './panel.js';

// plot draws curves [{x, y, color}] and levels [{y, name}] between the limits of y.
export function plot(canvas, {curves, levels = [], low, high, label}) {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (!w) return;
  canvas.width = w * ratio; canvas.height = h * ratio;
  const c = canvas.getContext('2d');
  c.scale(ratio, ratio);
  c.font = `12px ${getComputedStyle(canvas).fontFamily}`;
  const left = 58, right = 10, top = 10, bottom = 34;
  const all = curves.flatMap(k => k.x);
  const from = Math.min(...curves.map(k => k.x[0] ?? 0)), to = Math.max(from + 1, ...curves.map(k => k.x.at(-1) ?? 0));
  if (low === high) { low -= 1; high += 1; }
  const X = x => left + (x - from) / (to - from) * (w - left - right), Y = y => top + (high - y) / (high - low) * (h - top - bottom);
  c.textBaseline = 'middle'; c.textAlign = 'right'; c.strokeStyle = color('--rule'); c.fillStyle = color('--muted'); c.lineWidth = 1;
  for (let i = 0; i <= 4; i++) {
    const y = low + (high - low) * i / 4;
    c.beginPath(); c.moveTo(left, Y(y)); c.lineTo(w - right, Y(y)); c.stroke();
    c.fillText(Math.abs(y) >= 1000 ? Math.round(y).toLocaleString('en') : +y.toFixed(2), left - 6, Y(y));
  }
  c.textAlign = 'center';
  c.fillText(label, (left + w) / 2, h - 8);
  if (all.length) {
    c.textAlign = 'left'; c.fillText(from.toLocaleString('en'), left, h - 8);
    c.textAlign = 'right'; c.fillText(to.toLocaleString('en'), w - right, h - 8);
  }
  c.lineWidth = 1.5;
  for (const k of curves) {
    c.strokeStyle = k.color; c.beginPath();
    k.x.forEach((x, i) => i ? c.lineTo(X(x), Y(k.y[i])) : c.moveTo(X(x), Y(k.y[i])));
    c.stroke();
  }
  c.setLineDash([5, 4]); c.strokeStyle = c.fillStyle = color('--ink');
  for (const l of levels) {
    c.beginPath(); c.moveTo(left, Y(l.y)); c.lineTo(w - right, Y(l.y)); c.stroke();
    c.textAlign = 'right'; c.fillText(l.name, w - right, Y(l.y) + (Y(l.y) < 24 ? 10 : -8));
  }
}
