// What a page must not have: returns a list of faults. least is the smallest text in
// pixels.
(least => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) {
    const wide = [...document.body.querySelectorAll('*')].find(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.parentElement.closest('.scroll, pre, [tabindex="0"]'));
    faults.push(`${root.scrollWidth - innerWidth} px wider than the window: ${wide?.outerHTML.slice(0, 120)}`);
  }
  const parse = s => { const m = s.match(/rgba?\(([^)]+)\)/); if (!m) return null; const v = m[1].split(/[ ,/]+/).map(Number); return {c: v.slice(0, 3), a: v[3] ?? 1}; };
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const over = (top, below) => top.c.map((v, i) => top.a * v + (1 - top.a) * below[i]);
  const behind = e => { // the colour of the first box behind that has one
    const layers = [];
    for (; e; e = e.parentElement) {
      const b = parse(getComputedStyle(e).backgroundColor);
      if (b && b.a > 0) { layers.push(b); if (b.a === 1) break; }
    }
    return layers.reduceRight((below, l) => over(l, below), matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255]);
  };
  const drawn = new Map(); // the filled shapes of a drawing, in their order
  const shapes = svg => {
    if (!drawn.has(svg)) {
      drawn.set(svg, [...svg.querySelectorAll('path, rect, circle, ellipse, polygon')].flatMap(shape => {
        const s = getComputedStyle(shape), fill = parse(s.fill);
        return fill ? [{shape, fill: {c: fill.c, a: fill.a * s.fillOpacity}, box: shape.getBoundingClientRect()}] : [];
      }));
    }
    return drawn.get(svg);
  };
  const under = (svg, e) => { // the colour that the middle of a text of a drawing stands on
    const t = e.getBoundingClientRect(), p = new DOMPoint(t.x + t.width / 2, t.y + t.height / 2);
    let paper = behind(svg);
    for (const {shape, fill, box} of shapes(svg)) {
      if (p.x < box.left || p.x > box.right || p.y < box.top || p.y > box.bottom) continue;
      if (!(shape.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) break; // drawn over it
      if (shape.isPointInFill(p.matrixTransform(shape.getScreenCTM().inverse()))) paper = over(fill, paper);
    }
    return paper;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walker.nextNode());) {
    const e = n.parentElement, text = n.data.trim();
    if (!text || e.closest('script, style, noscript, title, desc, .sr, .skip') || !e.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const s = getComputedStyle(e), svg = e.closest('svg');
    let size = parseFloat(s.fontSize);
    if (svg) size *= Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b);
    if (size < least) faults.push(`text of ${size.toFixed(1)} px: ${text.slice(0, 40)}`);
    const ink = parse(svg ? s.fill : s.color);
    if (!ink) continue;
    const paper = svg ? under(svg, e) : behind(e);
    const ratio = contrast(over(ink, paper), paper);
    if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)}: ${text.slice(0, 40)} (${svg ? s.fill : s.color} on ${paper})`);
  }
  for (const svg of document.querySelectorAll('svg, img, canvas')) {
    const named = svg.hasAttribute('alt') || svg.getAttribute('aria-label') || svg.getAttribute('aria-labelledby') || svg.getAttribute('aria-hidden') || svg.querySelector?.(':scope > title');
    if (!named) faults.push(`a picture without alternative text: ${svg.outerHTML.slice(0, 80)}`);
  }
  return [...new Set(faults)].slice(0, 12);
})
