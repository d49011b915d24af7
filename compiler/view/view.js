/* The page's behaviour: draws what the data says, links lines by the source line they come from.
 * Plain script, no library, nothing loaded.  Parts, in order: data, links, code, timeline, memory,
 * layouts, lists, start. */
(() => {
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
const $ = (id) => document.getElementById(id);
const ESCAPES = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'};
const esc = (s) => String(s).replace(/[&<>"]/g, (c) => ESCAPES[c]);
const kib = (n) => n >= 1024 ? `${+(n / 1024).toFixed(1)} KiB` : `${n} B`;
const plural = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {}))
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v === true ? '' : v);
  e.append(...children);
  return e;
}

/* ---- data: texts by line, and who belongs to which source line ---- */
const FILE = 1e7; // a source line is one number: file * FILE + line
const keyOf = (from) => from ? D.places[from][0] * FILE + D.places[from][1] : 0;
const where = (key) => `${D.sources.length > 1 ? D.sources[Math.floor(key / FILE)].name + ' ' : ''}line ${key % FILE}`;

function splitLines(text) {
  const lines = text.split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  return lines;
}

function makeViews() {
  const views = D.sources.map((s, file) => {
    const lines = splitLines(s.text);
    return {id: file ? `source${file}` : 'source', title: file ? s.name.split('/').pop() : 'Source', language: 'tile',
            isSource: true, file, lines, keys: lines.map((_, i) => file * FILE + i + 1), from: []};
  });
  for (const s of D.stages) {
    const lines = s.text === undefined ? [] : splitLines(s.text);
    const language = s.id === 'ptx' || s.id === 'sass' ? s.id : 'ir';
    views.push({id: s.id, title: s.title, language, missing: s.missing || (lines.length ? null : 'This stage was not reached.'),
                lines, from: s.from, keys: lines.map((_, i) => keyOf(s.from[i]))});
  }
  for (const v of views) {
    v.at = new Map();
    v.keys.forEach((k, i) => k && (v.at.has(k) ? v.at.get(k).push(i) : v.at.set(k, [i])));
  }
  return views;
}
const views = makeViews();
const viewOf = (id) => views.find((v) => v.id === id);
const linkedKeys = new Set(views.filter((v) => !v.isSource).flatMap((v) => [...v.at.keys()]));

/* ---- links: one line is hovered, one may be pinned ---- */
const link = {hot: 0, hotFrom: 0, pin: 0, pinFrom: 0, parts: []};
/* Everything that shows linked things says what it has: elements by key. */
function addPart(root, elementsOf) {
  link.parts = link.parts.filter((p) => p.root.isConnected || p.isNew);
  link.parts.push({root, elementsOf});
}

function paint(name, key, before) {
  for (const p of link.parts) {
    if (before) for (const e of p.elementsOf(before)) e.classList.remove(name);
    if (key) for (const e of p.elementsOf(key)) e.classList.add(name);
  }
}

function hover(key, from) {
  if (key === link.hot && from === link.hotFrom) return;
  const before = link.hot;
  [link.hot, link.hotFrom] = [key, from || 0];
  if (key !== before) paint('hot', key, before);
  panes.forEach((p) => p.update());
}

function pin(key, from, origin) {
  const before = link.pin;
  [link.pin, link.pinFrom] = key === before && (from || 0) === link.pinFrom ? [0, 0] : [key, from || 0];
  paint('pin', link.pin, before);
  panes.forEach((p) => { p.update(); if (link.pin && p !== origin) p.reveal(link.pin, link.pinFrom); });
  keepAddress();
}

/* Elements of a chart or list that know their place by data-from. */
function linkElements(root) {
  const byKey = new Map();
  for (const e of root.querySelectorAll('[data-from]')) {
    const k = keyOf(+e.dataset.from);
    if (!k) continue;
    if (!byKey.has(k)) byKey.set(k, []);
    byKey.get(k).push(e);
  }
  addPart(root, (k) => byKey.get(k) || []);
  const find = (ev) => ev.target.closest && ev.target.closest('[data-from]');
  const over = (ev) => { const e = find(ev); hover(e ? keyOf(+e.dataset.from) : 0, e ? +e.dataset.from : 0); };
  root.addEventListener('mouseover', over);
  root.addEventListener('focusin', over);
  root.addEventListener('mouseleave', () => hover(0, 0));
  root.addEventListener('click', (ev) => choose(find(ev)));
  root.addEventListener('keydown', (ev) => {
    if (ev.key === 'Enter' || ev.key === ' ') { ev.preventDefault(); choose(find(ev)); }
    if (ev.key === 'ArrowRight' || ev.key === 'ArrowLeft') step(root, ev);
  });
  paint('pin', link.pin, 0);
}

function choose(e) {
  if (!e) return;
  if (e.dataset.view) panes[1].show(e.dataset.view);
  if (keyOf(+e.dataset.from)) pin(keyOf(+e.dataset.from), +e.dataset.from, null);
  if (e.dataset.view && e.dataset.line) panes[1].reveal(link.pin, 0, +e.dataset.line - 1);
}

function step(root, ev) {
  const all = [...root.querySelectorAll('.it')], i = all.indexOf(document.activeElement);
  const next = all[i + (ev.key === 'ArrowRight' ? 1 : -1)];
  if (i < 0 || !next) return;
  ev.preventDefault();
  document.activeElement.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  next.scrollIntoView({block: 'nearest', inline: 'nearest'});
}

/* The address says what is shown, so that it can be passed on. */
function keepAddress() {
  const parts = [`code=${panes[1].view.id}`, `panel=${panel.now}`];
  if (link.pin) parts.unshift(`line=${Math.floor(link.pin / FILE) ? Math.floor(link.pin / FILE) + ':' : ''}${link.pin % FILE}`);
  try { history.replaceState(null, '', '#' + parts.join('&')); } catch (e) { /* a copy without an address */ }
}

/* ---- code ---- */
const TOKENS = {
  tile: /("""[^]*?"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(#.*)|\b(def|return|if|elif|else|for|while|in|not|and|or|is|None|True|False|import|from|as|constexpr|assert|pass|lambda)\b|(@\w+)|\b(\d[\w.]*)/g,
  ir: /("(?:[^"\\]|\\.)*")|(\/\/.*)|\b(func|for|to|step|iter|while|do|if|else|role|yield|return)\b|(%\w+)|(-?\b\d[\w.]*)|(#l\d+)|([\w.]+)(?= [%{]| -?\d| :|$)/g,
  ptx: /("(?:[^"\\]|\\.)*")|(\/\/.*|^\s*\.loc.*)|(\.(?:visible|entry|param|reg|func|shared|extern|maxntid|reqntid|version|target|address_size|pragma|align|section|file)\b)|(%[\w.]+)|\b(0[xfd][0-9a-fA-F]+|\d+)\b|(\u0001)|^(\s*(?:@!?%\w+ )?[a-z][\w.:]*)/g,
  sass: /("(?:[^"\\]|\\.)*")|(\/\/.*|\/\*[0-9a-f]{4,}\*\/)|(@!?U?P\w+)|\b(U?R\d+|U?RZ|U?P\d|U?PT)\b|\b(0x[0-9a-f]+|\d+)\b|(\u0001)|\b([A-Z][A-Z0-9]+(?:\.[\w.]+)?)(?= |;)/g,
};
const CLASSES = ['s', 'c', 'k', 'v', 'n', 'y', 'o'];

function colour(text, language) {
  let out = '', at = 0;
  for (const m of text.matchAll(TOKENS[language])) {
    const which = m.slice(1).findIndex((g) => g !== undefined);
    if (which < 0 || !m[0]) continue;
    out += esc(text.slice(at, m.index)) + `<span class="${CLASSES[which]}">${esc(m[0])}</span>`;
    at = m.index + m[0].length;
  }
  return out + esc(text.slice(at));
}

/* Docstrings go over lines: what is inside of one is a string as a whole. */
function colourLines(view) {
  let inside = false;
  return view.lines.map((line) => {
    const quotes = view.language === 'tile' ? (line.match(/"""/g) || []).length : 0;
    const wasInside = inside;
    if (quotes % 2) inside = !inside;
    return wasInside || (inside && /^\s*"""/.test(line)) ? `<span class="s">${esc(line)}</span>` : colour(line, view.language);
  });
}

const hue = (key) => `hsl(${(key % FILE) * 47 % 360} 60% var(--tint))`;

/* The same may be said of a line several times: of each copy of a loop, for example. */
function saidAt(key) {
  const here = D.remarks.filter((r) => keyOf(r.from) === key);
  return here.filter((r, i) => here.findIndex((o) => o.code === r.code && o.text === r.text) === i).map((r) =>
    `<div class="said is-${r.severity}"><button type="button" data-code="${r.code}">${r.code}</button><span>${esc(r.text)}</span></div>`).join('');
}

function codeHtml(view) {
  const html = colourLines(view);
  view.html = html;
  return html.map((h, i) => {
    const k = view.keys[i], linked = k && linkedKeys.has(k);
    const strip = linked ? ` style="border-color:${hue(k)}"` : '';
    return `<div class="l${linked ? '' : ' none'}" data-n="${i}"><i${strip}>${i + 1}</i><span>${h || ' '}</span></div>` +
           (view.isSource ? saidAt(k) : '');
  }).join('');
}

class Pane {
  constructor(root, ids, first) {
    this.ids = ids;
    this.pages = new Map();
    this.tabs = make('div', {role: 'tablist', 'aria-label': 'What this pane shows'});
    this.bar = make('div', {class: 'bar'}, this.tabs);
    this.root = make('div', {class: `pane ${first === 'source' ? 'source' : ''}`}, this.bar);
    root.append(this.root);
    if (first === 'source' && D.remarks.length) this.bar.append(this.remarksSwitch());
    for (const id of ids) this.tabs.append(this.tab(id));
    tabKeys(this.tabs);
    this.show(first);
  }

  remarksSwitch() {
    const box = make('input', {type: 'checkbox', checked: true, onchange: () => this.root.classList.toggle('no-remarks', !box.checked)});
    return make('label', {}, box, ' remarks');
  }

  tab(id) {
    return make('button', {type: 'button', role: 'tab', 'data-id': id, onclick: () => { this.show(id); keepAddress(); }},
                viewOf(id).title);
  }

  show(id) {
    if (!this.ids.includes(id)) return;
    if (this.page) {
      this.page.box.hidden = true;
      this.page.ruler.replaceChildren();
    }
    this.view = viewOf(id);
    if (!this.pages.has(id)) this.pages.set(id, this.build(this.view));
    this.page = this.pages.get(id);
    this.page.box.hidden = false;
    selectTab(this.tabs, id);
    this.page.box.style.setProperty('--pane-width', `${this.root.clientWidth - 30}px`);
    if (link.pin) this.reveal(link.pin, link.pinFrom);
    this.update();
  }

  build(view) {
    const lines = make('div', {class: 'lines'}), ruler = make('div', {class: 'ruler', 'aria-hidden': 'true'});
    const box = make('div', {class: 'code', tabindex: '0', role: 'region', 'aria-label': `${view.title}, up and down keys and Enter`}, ruler, lines);
    this.root.append(box);
    if (view.missing) {
      lines.append(make('p', {class: 'missing'}, `No ${view.title}: ${view.missing}`));
      return {box, ruler, rows: [], marked: null};
    }
    lines.innerHTML = codeHtml(view);
    const rows = [...lines.querySelectorAll('.l')];
    addPart(box, (k) => (view.at.get(k) || []).map((i) => rows[i]));
    for (const i of view.at.get(link.pin) || []) rows[i].classList.add('pin');
    this.listen(box, view, rows);
    return {box, ruler, rows, marked: []};
  }

  listen(box, view, rows) {
    const key = (i) => linkedKeys.has(view.keys[i]) ? view.keys[i] : 0;
    const row = (ev) => { const l = ev.target.closest('.l'); return l ? +l.dataset.n : -1; };
    box.addEventListener('mouseover', (ev) => { const i = row(ev); hover(i < 0 ? 0 : key(i), view.from[i]); });
    box.addEventListener('mouseleave', () => hover(0, 0));
    box.addEventListener('click', (ev) => {
      const said = ev.target.dataset.code, name = ev.target.closest('.y'), i = row(ev);
      if (said) panel.show('remarks');
      else if (name) panel.showLayout(name.textContent);
      else if (i >= 0 && key(i) && !String(getSelection())) { this.cursor = i; pin(key(i), view.from[i], this); }
    });
    box.addEventListener('keydown', (ev) => {
      const by = {ArrowDown: 1, ArrowUp: -1}[ev.key];
      if (by) {
        ev.preventDefault();
        this.cursor = Math.max(0, Math.min(rows.length - 1, (this.cursor ?? -1) + by));
        rows[this.cursor].scrollIntoView({block: 'nearest'});
        hover(key(this.cursor), view.from[this.cursor]);
      } else if (ev.key === 'Enter' && this.cursor !== undefined && key(this.cursor)) {
        pin(key(this.cursor), view.from[this.cursor], this);
      }
    });
  }

  /* Scrolls to the lines of a key, best to the very place. */
  reveal(key, from, line) {
    const at = this.view.at.get(key) || [];
    let i = line !== undefined ? line : at.find((n) => from && this.view.from[n] === from);
    if (i === undefined) i = at[0];
    if (i === undefined || !this.page.rows[i]) return;
    const box = this.page.box, r = this.page.rows[i].getBoundingClientRect(), b = box.getBoundingClientRect();
    if (r.top < b.top + 10 || r.bottom > b.bottom - 10) box.scrollTop += r.top - b.top - b.height / 3;
  }

  /* Marks in the ruler, exact places in the source, counts in the tabs. */
  update() {
    const page = this.page, view = this.view;
    if (!page || !page.rows.length) return;
    const marks = (k, c) => (view.at.get(k) || []).map((i) => `<s class="${c}" style="top:${100 * i / view.lines.length}%"></s>`).join('');
    page.ruler.innerHTML = marks(link.pin, 'pin') + marks(link.hot, 'hot');
    const box = page.box;
    page.ruler.style.cssText = `position:sticky;top:0;left:calc(100% - 7px);height:0`;
    page.ruler.firstChild && page.ruler.style.setProperty('--h', `${box.clientHeight}px`);
    for (const s of page.ruler.children) s.style.top = `${parseFloat(s.style.top) / 100 * (box.clientHeight - 4)}px`;
    this.markExact();
    for (const t of this.tabs.children) {
      const n = (viewOf(t.dataset.id).at.get(link.hot || link.pin) || []).length, v = viewOf(t.dataset.id);
      t.innerHTML = esc(v.title) + (n && !v.isSource ? `<b>${n}</b>` : '');
    }
  }

  markExact() {
    const view = this.view, page = this.page;
    for (const i of page.marked) page.rows[i].lastChild.innerHTML = view.html[i] || ' ';
    page.marked = [];
    if (!view.isSource) return;
    for (const from of new Set([link.pinFrom, link.hotFrom])) {
      const p = from ? D.places[from] : [];
      if (p[0] !== view.file || !p[1] || page.marked.includes(p[1] - 1) || !page.rows[p[1] - 1]) continue;
      const text = Array.from(view.lines[p[1] - 1]), end = p[3] === p[1] ? p[4] - 1 : text.length;
      if (end <= p[2] - 1) continue;
      const part = (a, b) => colour(text.slice(a, b).join(''), view.language);
      page.rows[p[1] - 1].lastChild.innerHTML = `${part(0, p[2] - 1)}<mark>${part(p[2] - 1, end)}</mark>${part(end)}`;
      page.marked.push(p[1] - 1);
    }
  }
}

function selectTab(list, id) {
  for (const t of list.children) {
    t.setAttribute('aria-selected', String(t.dataset.id === id));
    t.tabIndex = t.dataset.id === id ? 0 : -1;
  }
}

function tabKeys(list) {
  list.addEventListener('keydown', (ev) => {
    const all = [...list.children], i = all.indexOf(document.activeElement);
    const next = all[i + ({ArrowRight: 1, ArrowLeft: -1}[ev.key] || 0)];
    if (i < 0 || !next || next === all[i]) return;
    ev.preventDefault();
    next.focus();
    next.click();
  });
}

/* ---- tooltip ---- */
function showTip(ev) {
  const e = ev.target.closest && ev.target.closest('[data-tip]');
  $('tip').hidden = !e;
  if (!e) return;
  $('tip').textContent = e.dataset.tip;
  const r = $('tip').getBoundingClientRect();
  const b = e.getBoundingClientRect(), x = ev.clientX || b.left, y = ev.clientX ? ev.clientY : b.bottom;
  $('tip').style.left = `${Math.max(4, Math.min(x + 12, innerWidth - r.width - 8))}px`;
  $('tip').style.top = `${y + 16 + r.height > innerHeight ? y - r.height - 10 : y + 16}px`;
}

/* ---- timeline ---- */
let TICK = 6; // pixels; as wide as there is room
const ACTS = {
  copy: ['copy', '--copy', 'begins a copy from global to shared memory'], commit: ['', '--copy', 'closes a group of copies'],
  wait_copies: ['wait', '--wait', 'waits until few enough groups of copies are in flight'],
  copy_arrive: ['', '--good', 'arrives at an mbarrier when the copies so far have landed'],
  expect: ['', '--good', 'tells an mbarrier how many bytes to expect'],
  barrier_wait: ['wait', '--wait', 'waits for a phase of an mbarrier'], barrier_arrive: ['', '--good', 'arrives at an mbarrier'],
  dot: ['dot', '--dot', 'matrix product'], wait_dots: ['wait', '--wait', 'waits until few enough products are in flight'],
  sync: ['', '--sync', 'all warps of the role meet'], read: ['read', '--mem', 'reads shared memory'],
  write: ['write', '--mem', 'writes shared memory'], load: ['load', '--mem', 'loads from global memory'],
  store: ['store', '--mem', 'stores to global memory'], math: ['math', '--math', 'arithmetic on floats'],
};
const shortName = (b) => (b.name || b.what).replace(/ = .*/, '').replace(/^(.{20}).{2,}$/, '$1…');
const slotName = ([b, stage]) => `${shortName(D.shared.buffers[b])}${D.shared.buffers[b].stages > 1 ? ' · stage ' + stage : ''}`;

function itemTip(i) {
  const t = [ACTS[i.act][2] + (i.async ? ', asynchronous' : '')];
  if (i.masked) t.push('masked off: nothing is there to take');
  if (i.act === 'wait_copies' || i.act === 'wait_dots') t[0] += ` (${i.num || 0})`;
  if (i.slots.length) t.push(i.slots.map(slotName).join(', '));
  if (i.ready) t.push(`blocked for ${i.ready - i.begin} of the model's ticks`);
  t.push(`${i.trip ? `iteration ${i.trip}, ` : ''}LOWERED line ${i.line}${i.from ? `, source ${where(keyOf(i.from))}` : ''}`);
  return t.join('\n');
}

function chartRows(t) {
  const rows = [], slots = new Map();
  t.lanes.forEach((lane, n) => {
    const items = t.items.filter((i) => i.lane === n);
    if (!items.length) return;
    const registers = lane.registers ? `, ${lane.registers} registers` : '';
    rows.push({kind: 'lane', name: lane.name, more: n || t.lanes.length === 1 ? `${plural(lane.warps, 'warp')}${registers}` : 'before and after', items, height: 40});
    const dots = items.filter((i) => i.act === 'dot' && i.async);
    if (dots.length) rows.push({kind: 'dots', name: '   tensor cores', items: dots, height: 20});
  });
  for (const i of t.items) for (const s of i.slots) {
    if (D.shared.buffers[s[0]].barriers) continue;
    if (!slots.has(s.join())) slots.set(s.join(), {kind: 'slot', slot: s, name: slotName(s), items: [], height: 20});
    slots.get(s.join()).items.push(i);
  }
  const sorted = [...slots.values()].sort((a, b) => a.slot[0] - b.slot[0] || a.slot[1] - b.slot[1]);
  let y = 2;
  for (const r of [...rows, ...sorted]) { r.y = y; y += r.height + (r.kind === 'lane' ? 2 : 3); }
  return {rows: [...rows, ...sorted], height: y + 6};
}

function bar(i, x0, x1, y, h, fill, label, tip) {
  const x = x0 * TICK, w = Math.max((x1 - x0) * TICK - 1, 2);
  const text = label && w > label.length * 6 + 2 ? `<text class="on" x="${x + w / 2}" y="${y + h / 2 + 4}" text-anchor="middle">${label}</text>` : '';
  return `<g class="it" tabindex="-1" role="button" data-act="${i.act}" data-from="${i.from}" data-view="lowered" data-line="${i.line}" data-tip="${esc(tip || itemTip(i))}" aria-label="${esc(tip || itemTip(i))}"><rect x="${x}" y="${y}" width="${w}" height="${h}" rx="2" fill="${fill}"/>${text}</g>`;
}

function laneBars(r) {
  let out = '', trip = 0;
  r.items.forEach((i, n) => {
    if (i.trip && i.trip !== trip) {
      const next = r.items.slice(n).find((o) => (o.trip || 0) !== i.trip), room = ((next ? next.begin : i.end + 99) - i.begin) * TICK;
      out += `<text class="soft" x="${i.begin * TICK + 2}" y="${r.y + 10}">${room > 72 ? 'iteration ' : ''}${i.trip}</text><path class="grid" d="M${i.begin * TICK - 0.5} ${r.y}v${r.height}"/>`;
    }
    trip = i.trip || 0;
    const [label, color] = ACTS[i.act];
    const isWait = label === 'wait', fill = isWait ? (i.ready ? 'url(#blocked)' : 'var(--line)') : `var(${color})`;
    out += bar(i, i.begin, i.end, r.y + 14, 22, i.masked ? 'var(--line)' : fill, isWait ? '' : label);
  });
  return out;
}

/* A slot is being filled, then full until its last reader before the next filling. */
function slotBars(r) {
  const items = [...r.items].sort((a, b) => a.begin - b.begin);
  const fills = items.filter((i) => (i.act === 'copy' || i.act === 'write') && !i.masked);
  let out = '';
  fills.forEach((f, n) => {
    const next = fills[n + 1] ? fills[n + 1].begin : Infinity;
    const readers = items.filter((i) => !fills.includes(i) && !i.masked && i.begin >= f.begin && i.begin < next);
    const landed = f.done || f.end, last = Math.max(landed, ...readers.map((i) => i.done || i.end));
    out += bar(f, f.begin, landed, r.y, 18, 'var(--copy)', 'filling', `${r.name}: is being filled\n${itemTip(f)}`);
    if (last > landed) out += `<rect x="${landed * TICK}" y="${r.y}" width="${(last - landed) * TICK - 1}" height="18" rx="2" fill="var(--full)"/>`;
    for (const i of readers)
      out += bar(i, i.begin, i.done || i.end, r.y + 9, 9, i.act === 'dot' ? 'var(--dot)' : 'var(--mem)', '', `${r.name}: is read\n${itemTip(i)}`);
  });
  return out;
}

function drawTimeline(root) {
  const t = D.timeline;
  if (!t.items.length) {
    root.append(make('p', {class: 'note'}, 'The kernel copies, multiplies and waits for nothing: there is no timeline.'));
    return;
  }
  const {rows, height} = chartRows(t), end = Math.max(...t.items.map((i) => Math.max(i.end, i.done || 0)));
  TICK = Math.max(6, Math.min(14, Math.floor((root.clientWidth - 230) / end)));
  const width = end * TICK + 20;
  root.append(make('p', {class: 'note'}, `Program 0 with ${t.assumed} for every integer argument. The order, and what waits for what, is that of LOWERED; durations are made up (a copy lands after 14 ticks, a wgmma takes 8).` +
    (t.cut ? ' Only the beginning is shown.' : '') + (t.stuck ? ' The model does not know all that the waits depend on: it stops before the end.' : '')));
  root.append(make('div', {class: 'legend'}));
  root.lastChild.innerHTML = [['--copy', 'copy, slot being filled'], ['--full', 'slot full'], ['--dot', 'product'], ['--math', 'arithmetic'], ['--mem', 'memory access'], ['--good', 'arrives at a barrier'], ['--sync', 'warps meet']]
    .map(([c, s]) => `<span><u style="background:var(${c})"></u>${s}</span>`).join('') +
    '<span><u style="background:repeating-linear-gradient(135deg,var(--wait) 0 2px,transparent 2px 5px);border-color:var(--wait)"></u>blocked in a wait</span>';
  const labels = rows.map((r) => r.kind === 'lane'
    ? `<text x="4" y="${r.y + 22}" style="font-weight:600">${esc(r.name)}</text><text class="soft" x="4" y="${r.y + 35}">${esc(r.more)}</text>`
    : `<text x="${r.kind === 'dots' ? 14 : 4}" y="${r.y + 13}" class="${r.kind === 'dots' ? 'soft' : ''}">${esc(r.name.trim())}</text>`).join('');
  const lines = rows.map((r) => `<path class="grid" d="M0 ${r.y + r.height + 1.5}h${width}"/>`).join('');
  const bars = rows.map((r) => r.kind === 'lane' ? laneBars(r) : r.kind === 'slot' ? slotBars(r)
    : r.items.map((i) => bar(i, i.done - 8, i.done, r.y + 1, 17, 'var(--dot)', 'wgmma')).join('')).join('');
  const chart = make('div', {class: 'chart', id: 'timeline'});
  chart.innerHTML = `<svg width="176" height="${height}">${labels}</svg><div class="scroll"><svg width="${width}" height="${height}" aria-label="Timeline"><defs><pattern id="blocked" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="5" height="5" fill="var(--card)"/><rect width="2" height="5" fill="var(--wait)"/></pattern></defs>${lines}${bars}</svg></div>`;
  root.append(chart);
  const first = chart.querySelector('.it');
  if (first) first.setAttribute('tabindex', '0');
  linkElements(chart);
}

/* ---- shared memory ---- */
const bufferColor = (n) => `hsl(${n * 67 % 360} 48% var(--tint))`;

function memoryMap(width) {
  const s = D.shared, ops = s.lines.length, left = 76, right = 10, height = 210, top = 14;
  const x = (op) => left + (width - left - right) * op / ops, y = (byte) => top + height * byte / s.bytes;
  const opAt = new Map(s.lines.map((line, op) => [line, op]));
  let out = '';
  for (let k = 0; k <= 4; k++)
    out += `<path class="grid" d="M${left} ${y(s.bytes * k / 4)}H${width - right}"/><text class="soft" x="${left - 6}" y="${y(s.bytes * k / 4) + 4}" text-anchor="end">${kib(Math.round(s.bytes * k / 4))}</text>`;
  for (let k = 0; k <= 8; k++) {
    const op = Math.min(ops - 1, Math.round(ops * k / 8));
    out += `<text class="soft" x="${x(op)}" y="${top + height + 18}" text-anchor="${k === 8 ? 'end' : k ? 'middle' : 'start'}">${k ? '' : 'LAID line '}${s.lines[op]}</text>`;
  }
  s.buffers.forEach((b, n) => {
    const x0 = x(b.first), w = Math.max(x(b.last + 1) - x0, 4), y0 = y(b.offset), h = Math.max(y(b.offset + b.bytes) - y0, 3);
    const name = b.name || b.what, tip = `${name}\n${b.type || `${b.what}, scratch memory`}\nbytes ${b.offset}–${b.offset + b.bytes - 1}, ${kib(b.bytes)}${b.stages > 1 ? ` in ${b.stages} stages` : ''}\nLAID lines ${s.lines[b.first]}–${s.lines[b.last]}`;
    out += `<g class="it" tabindex="${n ? -1 : 0}" role="button" data-buffer="${n}" data-from="${b.from}" data-view="laid" data-line="${b.line}" data-tip="${esc(tip)}" aria-label="${esc(tip)}"><rect x="${x0}" y="${y0}" width="${w}" height="${h}" rx="2" fill="${bufferColor(n)}" ${b.scratch ? 'stroke-dasharray="4 3" stroke="var(--soft)"' : 'stroke="var(--card)"'}/>`;
    for (let k = 1; k < b.stages && h > 20; k++) out += `<path d="M${x0} ${y0 + h * k / b.stages}h${w}" stroke="var(--ink)" stroke-opacity=".35" stroke-dasharray="3 3"/>`;
    for (const line of b.uses) if (h > 10) out += `<path d="M${x(opAt.get(line) + 0.5)} ${y0 + h - 7}v6" stroke="var(--ink)" stroke-opacity=".7" stroke-width="1.5"/>`;
    if (w > 60 && h > 16) out += `<text x="${x0 + 6}" y="${y0 + 14}" style="pointer-events:none">${esc(name.slice(0, Math.floor(w / 6.6)))}</text>`;
    if (w > 120 && h > 32) out += `<text class="soft" x="${x0 + 6}" y="${y0 + 28}" style="pointer-events:none">${esc((b.type || 'scratch').slice(0, Math.floor(w / 6.6)))}, ${kib(b.bytes)}</text>`;
    out += '</g>';
  });
  return `<svg id="memory" width="${width}" height="${top + height + 26}" aria-label="Shared memory over the program">${out}</svg>`;
}

const degree = (a) => a.known ? a.wavefronts / a.minimum : 0;
const degreeText = (a) => !a.known ? 'not known' : degree(a) <= 1 ? 'none' : `${+degree(a).toFixed(1)}-fold`;

/* Lanes are served in groups; a bank gives one word at a time to a group. */
function bankMap(a) {
  const group = Math.min(32, 128 / Math.max(4, a.bytes)), groups = 32 / group, cell = 17;
  let out = '', most = 0;
  for (let g = 0; g < groups; g++) {
    const words = Array.from({length: 32}, () => new Map());
    for (let lane = g * group; lane < (g + 1) * group; lane++)
      for (let w = Math.floor(a.lanes[lane] / 4); w * 4 < a.lanes[lane] + a.bytes; w++)
        words[w % 32].set(w, lane);
    words.forEach((set, bank) => {
      const n = set.size, lanes = [...set.values()];
      most = Math.max(most, n);
      const fill = n === 0 ? 'var(--page)' : n === 1 ? 'var(--full)' : `hsl(${Math.max(0, 40 - 12 * n)} 75% var(--tint))`;
      out += `<g data-tip="bank ${bank}: ${n ? plural(n, 'word') + ' for lanes ' + lanes.join(', ') : 'not used'}"><rect x="${64 + bank * cell}" y="${16 + g * cell}" width="${cell - 1}" height="${cell - 1}" rx="2" fill="${fill}"/>${n ? `<text x="${64 + bank * cell + 8}" y="${28 + g * cell}" text-anchor="middle" style="font-size:9.5px">${n > 1 ? n + '×' : lanes[0]}</text>` : ''}</g>`;
    });
    out += `<text class="soft" x="0" y="${28 + g * cell}">lanes ${g * group}–${(g + 1) * group - 1}</text>`;
  }
  for (let b = 0; b < 32; b += 4) out += `<text class="soft" x="${64 + b * cell}" y="11">${b}</text>`;
  return `<svg width="${64 + 32 * cell}" height="${20 + groups * cell}" aria-label="Banks">${out}</svg>`;
}

function accessTable(root) {
  const s = D.shared, box = make('div', {}, make('h2', {}, 'Accesses by a warp'));
  const right = make('div', {}, make('h2', {}, 'Banks'));
  const rows = s.accesses.map((a, n) => {
    const bad = a.known && degree(a) > 1;
    return `<tr class="row" data-n="${n}" data-from="${a.from}" data-view="lowered" data-line="${a.line}" tabindex="0"><td>${a.line}</td><td><code>${esc(a.what)}</code></td><td>${a.buffer < 0 ? '' : esc(shortName(s.buffers[a.buffer]))}</td><td>${a.bytes}</td><td>${a.known ? `${a.wavefronts} of ${a.minimum}` : ''}</td><td class="${bad ? 'bad' : a.known ? 'good' : ''}">${degreeText(a)}</td></tr>`;
  }).join('');
  const table = make('table', {id: 'accesses'});
  table.innerHTML = `<thead><tr><th>LOWERED</th><th>operation</th><th>buffer</th><th>bytes a lane</th><th>wavefronts</th><th>bank conflicts</th></tr></thead><tbody>${rows}</tbody>`;
  box.append(table);
  const show = (n) => {
    const a = s.accesses[n];
    right.replaceChildren(make('h2', {}, `Banks of ${a.what}, LOWERED line ${a.line}`), make('div', {class: 'scroll', id: 'banks'}));
    right.lastChild.innerHTML = a.known ? bankMap(a) : '<p class="note">Its addresses depend on what is not known here.</p>';
  };
  const pick = (ev) => { const r = ev.target.closest('tr.row'); if (r) show(+r.dataset.n); };
  table.addEventListener('mouseover', pick);
  table.addEventListener('focusin', pick);
  root.append(make('div', {class: 'columns'}, box, right));
  const worst = s.accesses.reduce((w, a, n) => degree(a) > degree(s.accesses[w]) ? n : w, 0);
  show(worst);
  linkElements(table);
}

function drawMemory(root) {
  const s = D.shared;
  if (!s.bytes) {
    root.append(make('p', {class: 'note'}, 'The kernel takes no shared memory.'));
    return;
  }
  root.append(make('p', {class: 'note'}, `${s.bytes} bytes of the ${s.limit} that a block may have. A rectangle is a buffer: its bytes, from the first to the last operation of LAID that needs it; ticks are its uses, dashed lines stages, dashed borders scratch memory of one operation.`));
  const box = make('div', {class: 'scroll'});
  box.innerHTML = memoryMap(Math.max(620, root.clientWidth - 34));
  root.append(box);
  linkElements(box);
  if (s.accesses.length) accessTable(root);
}

/* ---- layouts ---- */
function holders(l) {
  const rank = l.dims.length, shape = l.dims.map((d, i) => d * l.repeat[i]), log = l.dims.map((d) => Math.log2(d));
  const columns = rank ? shape[rank - 1] : 1, count = shape.reduce((a, b) => a * b, 1), rows = count / columns;
  const [nr, nl, nw] = l.num, reps = l.repeat.reduce((a, b) => a * b, 1);
  const h = {rows, columns, shape, reg: new Int32Array(count), lane: new Int32Array(count), warp: new Int32Array(count), copies: new Int32Array(count)};
  const shift = log.map((_, d) => log.slice(d + 1).reduce((a, b) => a + b, 0));
  const image = (bits, first, n) => { let w = 0; for (let b = 0; b < n; b++) if (bits >> b & 1) w ^= l.col[first + b]; return w; };
  for (let warp = 0; warp < 1 << nw; warp++) for (let lane = 0; lane < 1 << nl; lane++) {
    const base = image(lane, nr, nl) ^ image(warp, nr + nl, nw);
    for (let rep = 0; rep < reps; rep++) for (let reg = 0; reg < 1 << nr; reg++) {
      const word = base ^ image(reg, 0, nr);
      let at = 0, left = rep;
      const step = l.repeat.map((_, d) => l.repeat.slice(d + 1).reduce((a, b) => a * b, 1));
      for (let d = 0; d < rank; d++) {
        const r = Math.floor(left / step[d]);
        left %= step[d];
        at = at * shape[d] + (word >> shift[d] & l.dims[d] - 1) + r * l.dims[d];
      }
      if (h.copies[at]++) continue;
      h.reg[at] = rep << nr | reg;
      h.lane[at] = lane;
      h.warp[at] = warp;
    }
  }
  return h;
}

const isDark = () => matchMedia('(prefers-color-scheme: dark)').matches;
const bankOf = (l, reg) => Math.floor(reg * l.bytes / 4) % 32;

function cellColor(l, h, at, by) {
  const light = isDark() ? [52, 44, 37, 30] : [88, 80, 71, 62];
  if (l.shared) return `hsl(${bankOf(l, h.reg[at]) * 11.25} 62% ${light[1]}%)`;
  if (by === 'warp') return `hsl(${h.warp[at] * 360 / (1 << l.num[2])} 55% ${light[1 + (h.lane[at] & 1)]}%)`;
  if (by === 'register') return `hsl(210 60% ${light[0] - (light[0] - light[3]) * h.reg[at] / Math.max(1, (1 << l.num[0]) - 1)}%)`;
  return `hsl(${(h.lane[at] >> 2) * 45 + 7} 62% ${light[h.lane[at] & 3]}%)`;
}

const elements = (l) => l.dims.reduce((a, d, i) => a * d * l.repeat[i], 1);
const shapeText = (l) => l.dims.map((d, i) => d * l.repeat[i]).join('×');

function thumbnail(canvas, l) {
  if (elements(l) > 1 << 16) return;
  const h = holders(l), w = Math.min(h.columns, 64), rows = Math.min(h.rows, 24), g = canvas.getContext('2d');
  [canvas.width, canvas.height] = [w, rows];
  for (let r = 0; r < rows; r++) for (let c = 0; c < w; c++) {
    g.fillStyle = cellColor(l, h, r * h.columns + c, 'lane');
    g.fillRect(c, r, 1, 1);
  }
}

/* How the accesses of the buffers of this layout fare. */
function conflictWords(l) {
  const of = (b) => b >= 0 && D.layouts[D.shared.buffers[b].layout] === l;
  const words = D.shared.accesses.filter((a) => of(a.buffer)).map((a) => {
    const bad = a.known && degree(a) > 1;
    return make('span', {class: bad ? 'bad' : ''}, `${a.what} (LOWERED line ${a.line}): ${a.known ? bad ? `${degreeText(a)} bank conflicts` : 'no bank conflicts' : 'banks not known'}. `);
  });
  return l.shared ? words : [];
}

class LayoutPicture {
  constructor(root) {
    this.by = 'lane';
    this.zoom = 0;
    this.canvas = make('canvas', {tabindex: '0', role: 'img'});
    this.at = make('p', {class: 'at', 'aria-live': 'polite'});
    this.title = make('h2', {id: 'layout-name'});
    this.controls = make('div', {class: 'controls'});
    this.text = make('p', {class: 'mono note', style: 'overflow-wrap:anywhere'});
    this.accesses = make('p', {class: 'note'});
    this.chips = make('div', {class: 'chips'});
    root.append(this.title, this.controls, make('div', {class: 'scroll'}, this.canvas), this.at, this.accesses, this.text, this.chips);
    this.canvas.addEventListener('mousemove', (ev) => this.point(Math.floor(ev.offsetY / this.cell), Math.floor(ev.offsetX / this.cell)));
    this.canvas.addEventListener('mouseleave', () => this.draw());
    this.canvas.addEventListener('keydown', (ev) => this.key(ev));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.layout && this.canvas.isConnected && this.draw());
  }

  show(l) {
    this.layout = l;
    this.h = holders(l);
    this.cursor = [0, 0];
    const what = l.uses.length ? l.uses[0][1] : shapeText(l);
    this.title.textContent = `${l.name} · ${what}`;
    this.text.textContent = l.text;
    this.canvas.setAttribute('aria-label', `Layout ${l.name}: who holds which element; arrow keys`);
    this.accesses.replaceChildren(...conflictWords(l));
    this.chips.replaceChildren(...l.uses.map(([name, type, line]) => make('button', {type: 'button', title: `${type}, LAID line ${line}`,
      onclick: () => { panes[1].show('laid'); const from = viewOf('laid').from[line - 1]; if (keyOf(from) && link.pin !== keyOf(from)) pin(keyOf(from), from, null); panes[1].reveal(0, 0, line - 1); keepAddress(); }}, '%' + name)));
    this.buttons();
    this.draw();
  }

  buttons() {
    const button = (text, pressed, go) => make('button', {type: 'button', 'aria-pressed': pressed, onclick: () => { go(); this.buttons(); this.draw(); }}, text);
    const by = (what) => button(what, String(this.by === what), () => { this.by = what; });
    const kinds = this.layout.shared ? ['Colour: bank of shared memory'] : ['Colour:', by('lane'), by('warp'), by('register')];
    this.controls.replaceChildren(...kinds, button('−', null, () => { this.zoom--; }), button('+', null, () => { this.zoom++; }));
    this.controls.children[this.controls.children.length - 2].setAttribute('aria-label', 'smaller');
    this.controls.lastChild.setAttribute('aria-label', 'larger');
  }

  key(ev) {
    const by = {ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1]}[ev.key];
    if (!by) return;
    ev.preventDefault();
    this.point(Math.max(0, Math.min(this.h.rows - 1, this.cursor[0] + by[0])), Math.max(0, Math.min(this.h.columns - 1, this.cursor[1] + by[1])));
  }

  /* Cells as wide as there is room, with words where they fit. */
  draw(same) {
    const {layout: l, h, canvas} = this, room = Math.max(260, canvas.parentElement.parentElement.clientWidth - 6);
    this.cell = Math.max(2, Math.min(34, Math.floor(room / Math.min(h.columns, 128)))) * Math.pow(1.5, this.zoom);
    this.cell = Math.max(2, Math.min(48, Math.round(this.cell)));
    const scale = devicePixelRatio || 1, s = this.cell, rows = Math.min(h.rows, Math.floor(16000 / s)), columns = Math.min(h.columns, Math.floor(16000 / s));
    [canvas.width, canvas.height] = [columns * s * scale, rows * s * scale];
    canvas.style.width = `${columns * s}px`;
    canvas.style.height = `${rows * s}px`;
    const g = canvas.getContext('2d');
    g.scale(scale, scale);
    g.font = `${Math.min(11, s * 0.42)}px sans-serif`;
    g.textAlign = 'center';
    const gap = s > 5 ? 1 : 0, ink = isDark() ? '#fff' : '#1c2330';
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
      const at = r * h.columns + c;
      g.globalAlpha = same && !same(at) ? 0.25 : 1;
      g.fillStyle = cellColor(l, h, at, this.by);
      g.fillRect(c * s, r * s, s - gap, s - gap);
      if (s < 22) continue;
      g.fillStyle = ink;
      g.fillText(l.shared ? bankOf(l, h.reg[at]) : `t${h.lane[at]}`, c * s + s / 2, r * s + s * (l.shared ? 0.6 : 0.46));
      if (!l.shared) g.fillText(`r${h.reg[at]}`, c * s + s / 2, r * s + s * 0.86);
    }
    g.globalAlpha = 1;
    if (!l.shared) this.warpLines(g, rows, columns, s, ink);
  }

  warpLines(g, rows, columns, s, ink) {
    const h = this.h, W = h.columns;
    g.fillStyle = ink;
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
      const at = r * W + c;
      if (r + 1 < rows && h.warp[at] !== h.warp[at + W]) g.fillRect(c * s, (r + 1) * s - 1, s, 1.5);
      if (c + 1 < columns && h.warp[at] !== h.warp[at + 1]) g.fillRect((c + 1) * s - 1, r * s, 1.5, s);
    }
  }

  /* All that the thread under the pointer holds; of shared memory, all in its bank. */
  point(row, column) {
    const {layout: l, h} = this;
    if (row < 0 || column < 0 || row >= h.rows || column >= h.columns) return;
    this.cursor = [row, column];
    const at = row * h.columns + column, index = [];
    let left = at;
    for (let d = h.shape.length - 1; d >= 0; d--) { index.unshift(left % h.shape[d]); left = Math.floor(left / h.shape[d]); }
    const element = `[${index.join(', ')}]`;
    if (l.shared) {
      const bank = bankOf(l, h.reg[at]);
      this.at.textContent = `${element}: byte ${h.reg[at] * l.bytes} of a stage, bank ${bank}`;
      this.draw((k) => bankOf(l, h.reg[k]) === bank);
    } else {
      const copies = h.copies[at] > 1 ? `; ${h.copies[at]} threads or registers hold it, the first is shown` : '';
      this.at.textContent = `${element}: warp ${h.warp[at]}, lane ${h.lane[at]}, register ${h.reg[at]}${copies}`;
      this.draw((k) => h.warp[k] === h.warp[at] && h.lane[k] === h.lane[at]);
    }
  }
}

/* Two-dimensional ones first, by how many values have them. */
const weight = (l) => (l.dims.filter((d) => d > 1).length > 1 ? 1e6 : 0) + l.uses.length;

function drawLayouts(root) {
  if (!D.layouts.length) {
    root.append(make('p', {class: 'note'}, 'No value of this kernel is a tile.'));
    return;
  }
  const cards = make('div', {class: 'cards', id: 'cards'}), side = make('div', {class: 'picture'});
  root.append(make('div', {class: 'layouts'}, cards, side));
  const picture = new LayoutPicture(side);
  const show = (l) => {
    panel.layout = l.name;
    for (const c of cards.children) c.setAttribute('aria-pressed', String(c.dataset.name === l.name));
    picture.show(l);
  };
  for (const l of [...D.layouts].sort((a, b) => weight(b) - weight(a))) {
    const canvas = make('canvas', {'aria-hidden': 'true'});
    cards.append(make('button', {type: 'button', class: 'card', 'data-name': l.name, 'aria-pressed': 'false', onclick: () => show(l)}, canvas,
      make('b', {}, l.name), ` ${shapeText(l)}`, make('span', {}, `${l.shared ? 'shared' : `${plural(1 << l.num[2], 'warp')}`}, ${plural(l.uses.length, 'value')}`)));
    thumbnail(canvas, l);
  }
  const wanted = D.layouts.find((l) => l.name === panel.layout);
  show(wanted || D.layouts.find((l) => l.name === cards.firstChild.dataset.name));
}

/* ---- lists ---- */
function drawRemarks(root) {
  const list = make('div', {id: 'remarks'});
  if (!D.remarks.length) list.append(make('p', {class: 'note'}, 'The compiler has nothing to say about this kernel.'));
  for (const r of D.remarks) {
    const row = make('div', {class: 'remark', 'data-from': r.from, tabindex: '0', role: 'button'},
      make('span', {class: `mono ${r.severity === 'remark' ? '' : 'warn'}`}, r.code),
      make('span', {class: 'note', style: 'margin:0'}, r.from ? where(keyOf(r.from)) : ''),
      make('div', {}, r.text, ...(r.help || r.notes.length ? [make('ul', {}, ...[...r.notes, r.help].filter(Boolean).map((t) => make('li', {}, t)))] : [])));
    list.append(row);
  }
  root.append(list);
  linkElements(list);
}

function drawKernel(root) {
  const table = make('table', {id: 'params'});
  const fact = (p) => p.value !== null ? `= ${p.value}` : p.divisible > 1 ? `divisible by ${p.divisible}` : '';
  table.innerHTML = '<thead><tr><th>parameter</th><th>type</th><th>known when compiled</th></tr></thead><tbody>' +
    D.facts.params.map((p) => `<tr><td><code>${esc(p.name)}</code></td><td><code>${esc(p.type)}</code></td><td>${esc(fact(p))}</td></tr>`).join('') + '</tbody>';
  const sizes = make('table', {});
  sizes.innerHTML = '<thead><tr><th>stage</th><th>lines</th><th>with a source line</th></tr></thead><tbody>' + views.filter((v) => !v.isSource).map((v) =>
    `<tr><td>${v.title}</td><td>${v.lines.length}</td><td>${v.keys.filter(Boolean).length}</td></tr>`).join('') + '</tbody>';
  root.append(make('div', {class: 'columns'}, table, sizes));
}

/* ---- start ---- */
const panel = {
  now: '',
  layout: '',
  all: {pipeline: ['Pipeline', drawTimeline], memory: ['Shared memory', drawMemory], layouts: ['Layouts', drawLayouts], remarks: ['Remarks', drawRemarks], kernel: ['Kernel', drawKernel]},
  show(id) {
    if (!this.all[id]) return;
    this.now = id;
    selectTab($('tabs'), id);
    $('panel').replaceChildren();
    $('panel').setAttribute('aria-label', this.all[id][0]);
    $('panel').scrollTop = 0;
    hover(0, 0);
    this.all[id][1]($('panel'));
    link.parts = link.parts.filter((p) => p.root.isConnected);
    keepAddress();
  },
  showLayout(name) {
    this.layout = name;
    this.show('layouts');
  },
};
const panes = [];

function drawHeader() {
  const f = D.facts, key = keyOf(f.from), stats = [];
  document.title = `${f.kernel} – tilec view`;
  $('kernel').textContent = f.kernel;
  $('about').textContent = [key ? `${D.sources[Math.floor(key / FILE)].name}:${key % FILE}` : '', f.arch, f.grid ? `grid ${f.grid}` : '', f.producer].filter(Boolean).join(' · ');
  const spills = f.spill_stores + f.spill_loads, share = f.occupancy ? f.occupancy.warps / f.occupancy.of : 0;
  stats.push(['Warps', f.extra_warps ? `${f.warps} <small>+ ${f.extra_warps} that copy</small>` : f.warps], ['Stages', f.stages]);
  stats.push(['Shared memory', `${kib(f.shared)} <small>of ${kib(D.shared.limit)}</small>`]);
  stats.push(f.registers === undefined ? ['Registers', '<small>no ptxas</small>'] : ['Registers', `${f.registers} <small>a thread</small>`]);
  if (f.registers !== undefined) stats.push(['Spills', spills ? `<span class="bad">${kib(spills)}</span>` : '<span class="good">none</span>']);
  if (f.occupancy) stats.push(['Occupancy', `${plural(f.occupancy.blocks, 'block')} <small>· ${f.occupancy.warps} of ${f.occupancy.of} warps (${Math.round(100 * share)} %), by ${esc(f.occupancy.limit)}</small>`]);
  $('stats').innerHTML = stats.map(([k, v]) => `<div><dt>${k}</dt><dd>${v}</dd></div>`).join('');
}

function resize() {
  const set = (percent) => $('panes').style.setProperty('--code', `${Math.max(15, Math.min(85, percent))}%`);
  const now = () => 100 * $('panes').offsetHeight / document.querySelector('main').offsetHeight;
  $('split').addEventListener('pointerdown', (ev) => $('split').setPointerCapture(ev.pointerId));
  $('split').addEventListener('pointermove', (ev) => {
    const box = document.querySelector('main').getBoundingClientRect();
    if (ev.buttons) { set(100 * (ev.clientY - box.top) / box.height); $('drawer').style.flexGrow = 0; $('drawer').style.flexBasis = 'auto'; $('drawer').style.flex = '1 1 0'; $('panes').style.flex = '0 0 var(--code)'; }
  });
  $('split').addEventListener('keydown', (ev) => {
    const by = {ArrowDown: 4, ArrowUp: -4}[ev.key];
    if (by) { ev.preventDefault(); $('drawer').style.flex = '1 1 0'; $('panes').style.flex = '0 0 var(--code)'; set(now() + by); }
  });
}

function start() {
  const asked = new URLSearchParams(location.hash.slice(1)), ids = views.map((v) => v.id);
  const sources = views.filter((v) => v.isSource).map((v) => v.id), stages = ids.filter((id) => !sources.includes(id));
  drawHeader();
  if (sources.length) panes.push(new Pane($('panes'), sources, 'source'));
  panes.push(new Pane($('panes'), stages, stages.includes(asked.get('code')) ? asked.get('code') : viewOf('laid').lines.length ? 'laid' : 'lowered'));
  if (panes.length === 1) panes.unshift(panes[0]);
  for (const [id, [title]] of Object.entries(panel.all))
    $('tabs').append(make('button', {type: 'button', role: 'tab', 'data-id': id, onclick: () => panel.show(id)}, id === 'remarks' ? `${title} (${D.remarks.length})` : title));
  tabKeys($('tabs'));
  const [file, line] = (asked.get('line') || '0').includes(':') ? asked.get('line').split(':').map(Number) : [0, +asked.get('line')];
  panel.layout = asked.get('layout') || '';
  panel.show(panel.all[asked.get('panel')] ? asked.get('panel') : 'pipeline');
  if (linkedKeys.has(file * FILE + line)) pin(file * FILE + line, 0, null);
  document.addEventListener('mouseover', showTip);
  document.addEventListener('focusin', showTip);
  document.addEventListener('keydown', (ev) => {
    if (ev.key === 'Escape' && link.pin) pin(link.pin, link.pinFrom, null);
    if (ev.key === 'Escape') $('tip').hidden = true;
  });
  resize();
}
start();
})();
