/* The page's behaviour: draws what the data says, links lines by the source line they come from.
 * Plain script, no library, nothing loaded.  Parts, in order: words, data, links, code, tooltip,
 * timeline, shared memory, layouts, lists, start. */
(() => {
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);

/* ---- words and elements ---- */
const $ = (id) => document.getElementById(id);
const ESCAPES = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'};
const esc = (s) => String(s).replace(/[&<>"]/g, (c) => ESCAPES[c]);
const kib = (n) => (n >= 1024 ? `${+(n / 1024).toFixed(1)} KiB` : `${n} B`);
const plural = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/* An element; attributes that begin with "on" are listeners, false and null are left out. */
function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {}))
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v === true ? '' : v);
  e.append(...children);
  return e;
}

function fromHtml(tag, attributes, html) {
  const e = make(tag, attributes);
  e.innerHTML = html;
  return e;
}

const note = (text) => make('p', {class: 'note'}, text);
const cells = (tag, words) => `<tr>${words.map((w) => `<${tag}>${w}</${tag}>`).join('')}</tr>`;
const tableHtml = (head, rows) =>
  `<thead>${cells('th', head)}</thead><tbody>${rows.join('')}</tbody>`;

/* Attributes of SVG and HTML as text. */
const attrs = (a) => Object.entries(a).map(([k, v]) => ` ${k}="${esc(v)}"`).join('');
const rect = (x, y, width, height, a = {}) => `<rect${attrs({x, y, width, height, ...a})}/>`;
const words = (x, y, text, a = {}) => `<text${attrs({x, y, ...a})}>${esc(text)}</text>`;
const path = (d, a = {}) => `<path${attrs({d, ...a})}/>`;
const svg = (width, height, label, inner, a = {}) =>
  `<svg${attrs({width, height, 'aria-label': label, ...a})}>${inner}</svg>`;

/* ---- data: texts by line, and who belongs to which source line ---- */
const FILE = 1e7; // a source line is one number: file * FILE + line
const fileOf = (key) => Math.floor(key / FILE);
const keyOf = (from) => (from ? D.places[from][0] * FILE + D.places[from][1] : 0);
const where = (key) =>
  `${D.sources.length > 1 ? `${D.sources[fileOf(key)].name} ` : ''}line ${key % FILE}`;

function splitLines(text) {
  const lines = text.split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  return lines;
}

function sourceView(source, file) {
  const lines = splitLines(source.text);
  return {
    id: file ? `source${file}` : 'source',
    title: file ? source.name.split('/').pop() : 'Source',
    language: source.name.endsWith('.tir') ? 'ir' : 'tile', isSource: true, file, lines, from: [],
    keys: lines.map((_, i) => file * FILE + i + 1),
  };
}

function stageView(stage) {
  const lines = stage.text === undefined ? [] : splitLines(stage.text);
  return {
    id: stage.id, title: stage.title, lines, from: stage.from,
    language: stage.id === 'ptx' || stage.id === 'sass' ? stage.id : 'ir',
    missing: stage.missing || (lines.length ? null : 'this stage was not reached.'),
    keys: lines.map((_, i) => keyOf(stage.from[i])),
  };
}

const views = [...D.sources.map(sourceView), ...D.stages.map(stageView)];
const viewOf = (id) => views.find((v) => v.id === id);
const stages = views.filter((v) => !v.isSource);
for (const v of views) {
  v.at = new Map(); // key -> numbers of lines
  v.keys.forEach((k, i) => k && (v.at.has(k) ? v.at.get(k).push(i) : v.at.set(k, [i])));
}
const linkedKeys = new Set(stages.flatMap((v) => [...v.at.keys()]));

/* ---- links: one source line may be pointed at, one may be pinned ---- */
const link = {hot: 0, hotFrom: 0, pin: 0, pinFrom: 0, parts: []};

/* A part of the page that shows linked things: its elements of a key. */
function addPart(root, elementsOf) {
  link.parts = link.parts.filter((p) => p.root.isConnected);
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
  for (const p of panes) p.update();
}

/* Pins, or lets go of what is pinned; `origin` is the pane where it was asked for. */
function pin(key, from, origin) {
  const before = link.pin, isSame = key === before && (from || 0) === link.pinFrom;
  [link.pin, link.pinFrom] = isSame ? [0, 0] : [key, from || 0];
  paint('pin', link.pin, before);
  for (const p of panes) {
    p.update();
    if (link.pin && p !== origin) p.reveal(link.pin, link.pinFrom);
  }
  keepAddress();
}

/* Elements of a chart or list that know their place by data-from. */
function linkElements(root) {
  const byKey = new Map();
  for (const e of root.querySelectorAll('[data-from]')) {
    const k = keyOf(+e.dataset.from);
    if (k) byKey.set(k, [...(byKey.get(k) || []), e]);
  }
  addPart(root, (k) => byKey.get(k) || []);
  const find = (ev) => ev.target.closest && ev.target.closest('[data-from]');
  const over = (ev) => {
    const from = find(ev) ? +find(ev).dataset.from : 0;
    hover(keyOf(from), from);
  };
  root.addEventListener('mouseover', over);
  root.addEventListener('focusin', over);
  root.addEventListener('mouseleave', () => hover(0, 0));
  root.addEventListener('click', (ev) => choose(find(ev)));
  root.addEventListener('keydown', (ev) => {
    if (ev.key === 'ArrowRight' || ev.key === 'ArrowLeft') stepAlong(root, ev);
    if (ev.key !== 'Enter' && ev.key !== ' ') return;
    ev.preventDefault();
    choose(find(ev));
  });
  paint('pin', link.pin, 0);
}

/* Pins its line, and shows the very line of a stage that it stands for. */
function choose(e) {
  if (!e) return;
  const from = +e.dataset.from;
  if (e.dataset.view) stagePane().show(e.dataset.view);
  if (keyOf(from)) pin(keyOf(from), from, null);
  if (e.dataset.view) stagePane().revealLine(+e.dataset.line - 1);
}

/* From one bar of a chart to the next. */
function stepAlong(root, ev) {
  const all = [...root.querySelectorAll('.it')], i = all.indexOf(document.activeElement);
  const next = all[i + (ev.key === 'ArrowRight' ? 1 : -1)];
  if (i < 0 || !next) return;
  ev.preventDefault();
  all[i].setAttribute('tabindex', '-1');
  next.setAttribute('tabindex', '0');
  next.focus();
  next.scrollIntoView({block: 'nearest', inline: 'nearest'});
}

/* The address says what is shown, so that it can be passed on. */
function keepAddress() {
  const parts = [`code=${stagePane().view.id}`, `panel=${panel.now}`];
  const file = fileOf(link.pin) ? `${fileOf(link.pin)}:` : '';
  if (link.pin) parts.unshift(`line=${file}${link.pin % FILE}`);
  history.replaceState(null, '', `#${parts.join('&')}`);
}

/* ---- code ---- */
/* Groups: string, comment, word, value, number, layout, operation. */
const CLASSES = ['s', 'c', 'k', 'v', 'n', 'y', 'o'];
const NEVER = '(\u0001)';
const STRING = '("(?:[^"\\\\]|\\\\.)*")';
const tokens = (...groups) => new RegExp(groups.join('|'), 'g');
const TOKENS = {
  tile: tokens(
    '("""[^]*?"""|"(?:[^"\\\\]|\\\\.)*"|\'(?:[^\'\\\\]|\\\\.)*\')', '(#.*)',
    '\\b(def|return|if|elif|else|for|while|in|not|and|or|is|None|True|False|import|from|as|' +
    'constexpr|assert|pass|lambda)\\b', '(@\\w+)', '\\b(\\d[\\w.]*)'),
  ir: tokens(
    STRING, '(//.*)', '\\b(func|for|to|step|iter|while|do|if|else|role|yield|return)\\b',
    '(%\\w+)', '(-?\\b\\d[\\w.]*)', '(#l\\d+)', '([\\w.]+)(?= [%{]| -?\\d| :|$)'),
  ptx: tokens(
    STRING, '(//.*|^\\s*\\.loc.*)',
    '(\\.(?:visible|entry|param|reg|func|shared|extern|maxntid|reqntid|version|target|' +
    'address_size|pragma|align|section|file)\\b)', '(%[\\w.]+)',
    '\\b(0[xfd][0-9a-fA-F]+|\\d+)\\b', NEVER, '^(\\s*(?:@!?%\\w+ )?[a-z][\\w.:]*)'),
  sass: tokens(
    STRING, '(//.*|/\\*[0-9a-f]{4,}\\*/)', '(@!?U?P\\w+)', '\\b(U?R\\d+|U?RZ|U?P\\d|U?PT)\\b',
    '\\b(0x[0-9a-f]+|\\d+)\\b', NEVER, '\\b([A-Z][A-Z0-9]+(?:\\.[\\w.]+)?)(?= |;)'),
};

function colour(text, language) {
  let out = '', at = 0;
  for (const m of text.matchAll(TOKENS[language])) {
    const which = m.slice(1).findIndex((g) => g !== undefined);
    if (which < 0 || !m[0]) continue;
    out += `${esc(text.slice(at, m.index))}<span class="${CLASSES[which]}">${esc(m[0])}</span>`;
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
    const isString = wasInside || (inside && /^\s*"""/.test(line));
    return isString ? `<span class="s">${esc(line)}</span>` : colour(line, view.language);
  });
}

/* The same may be said of a line several times: of each copy of a loop, for example. */
function saidAt(key) {
  const here = D.remarks.filter((r) => keyOf(r.from) === key);
  const isFirst = (r, i) => here.findIndex((o) => o.code === r.code && o.text === r.text) === i;
  return here.filter(isFirst).map((r) =>
    `<div class="said is-${r.severity}"><button type="button" data-code="${r.code}">` +
    `${r.code}</button><span>${esc(r.text)}</span></div>`).join('');
}

const stripColour = (key) => `hsl(${((key % FILE) * 47) % 360} 60% var(--tint))`;

function codeHtml(view) {
  view.html = colourLines(view);
  return view.html.map((h, i) => {
    const k = view.keys[i], isLinked = linkedKeys.has(k);
    const strip = isLinked ? ` style="border-color:${stripColour(k)}"` : '';
    return `<div class="l${isLinked ? '' : ' none'}" data-n="${i}"><i${strip}>${i + 1}</i>` +
           `<span>${h || ' '}</span></div>${view.isSource ? saidAt(k) : ''}`;
  }).join('');
}

/* Tabs over the text of one view at a time. */
class Pane {
  constructor(root, ids, first) {
    this.ids = ids;
    this.pages = new Map();
    this.isSource = viewOf(ids[0]).isSource;
    this.tabs = make('div', {role: 'tablist', 'aria-label': 'What this pane shows'});
    this.bar = make('div', {class: 'bar'}, this.tabs);
    this.root = make('div', {class: `pane ${this.isSource ? 'source' : ''}`}, this.bar);
    root.append(this.root);
    if (this.isSource && D.remarks.length) this.bar.append(this.remarksSwitch());
    for (const id of ids)
      this.tabs.append(make('button', {type: 'button', role: 'tab', 'data-id': id,
        onclick: () => { this.show(id); keepAddress(); }}, viewOf(id).title));
    tabKeys(this.tabs);
    this.show(first);
  }

  remarksSwitch() {
    const toggle = () => this.root.classList.toggle('no-remarks', !box.checked);
    const box = make('input', {type: 'checkbox', checked: true, onchange: toggle});
    return make('label', {}, box, ' remarks');
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
    this.page.box.style.setProperty('--pane-width', `${this.root.clientWidth - 30}px`);
    selectTab(this.tabs, id);
    if (link.pin) this.reveal(link.pin, link.pinFrom);
    this.update();
  }

  build(view) {
    const lines = make('div', {class: 'lines'});
    const ruler = make('div', {class: 'ruler', 'aria-hidden': 'true'});
    const box = make('div', {class: 'code', tabindex: '0', role: 'region',
      'aria-label': `${view.title}: arrow keys and Enter`}, ruler, lines);
    this.root.append(box);
    if (view.missing) {
      lines.append(make('p', {class: 'missing'}, `No ${view.title}: ${view.missing}`));
      return {box, ruler, rows: [], marked: []};
    }
    lines.innerHTML = codeHtml(view);
    const rows = [...lines.querySelectorAll('.l')];
    addPart(box, (k) => (view.at.get(k) || []).map((i) => rows[i]));
    for (const i of view.at.get(link.pin) || []) rows[i].classList.add('pin');
    this.listen(box, view, rows);
    return {box, ruler, rows, marked: []};
  }

  listen(box, view, rows) {
    const key = (i) => (linkedKeys.has(view.keys[i]) ? view.keys[i] : 0);
    const rowOf = (ev) => (ev.target.closest('.l') ? +ev.target.closest('.l').dataset.n : -1);
    const choosePlace = (i) => {
      this.cursor = i;
      if (key(i)) pin(key(i), view.from[i], this);
    };
    box.addEventListener('mouseover', (ev) => {
      const i = rowOf(ev);
      hover(i < 0 ? 0 : key(i), view.from[i]);
    });
    box.addEventListener('mouseleave', () => hover(0, 0));
    box.addEventListener('click', (ev) => {
      const layout = ev.target.closest('.y');
      if (ev.target.dataset.code) panel.show('remarks');
      else if (layout) panel.showLayout(layout.textContent);
      else if (rowOf(ev) >= 0 && !String(getSelection())) choosePlace(rowOf(ev));
    });
    box.addEventListener('keydown', (ev) => {
      const by = {ArrowDown: 1, ArrowUp: -1}[ev.key];
      if (ev.key === 'Enter' && this.cursor !== undefined) choosePlace(this.cursor);
      if (!by) return;
      ev.preventDefault();
      this.cursor = clamp((this.cursor ?? -1) + by, 0, rows.length - 1);
      rows[this.cursor].scrollIntoView({block: 'nearest'});
      hover(key(this.cursor), view.from[this.cursor]);
    });
  }

  /* Scrolls to the lines of a key, best to the very place. */
  reveal(key, from) {
    const at = this.view.at.get(key) || [];
    const exact = at.find((n) => from && this.view.from[n] === from);
    this.revealLine(exact === undefined ? at[0] : exact);
  }

  revealLine(i) {
    const row = this.page.rows[i];
    if (!row) return;
    const box = this.page.box, r = row.getBoundingClientRect(), b = box.getBoundingClientRect();
    const isSeen = r.top >= b.top + 10 && r.bottom <= b.bottom - 10;
    if (!isSeen) box.scrollTop += r.top - b.top - b.height / 3;
  }

  /* Marks in the ruler, exact places in the source, numbers in the tabs. */
  update() {
    if (!this.page || !this.page.rows.length) return;
    this.markRuler();
    this.markExact();
    for (const t of this.tabs.children) {
      const v = viewOf(t.dataset.id), n = (v.at.get(link.hot || link.pin) || []).length;
      t.innerHTML = esc(v.title) + (n && !v.isSource ? `<b>${n}</b>` : '');
    }
  }

  markRuler() {
    const room = this.page.box.clientHeight - 4, view = this.view;
    const marks = (key, name) => (view.at.get(key) || []).map((i) =>
      `<s class="${name}" style="top:${(room * i) / view.lines.length}px"></s>`).join('');
    this.page.ruler.innerHTML = marks(link.pin, 'pin') + marks(link.hot, 'hot');
  }

  markExact() {
    const {view, page} = this;
    for (const i of page.marked) page.rows[i].lastChild.innerHTML = view.html[i] || ' ';
    page.marked = [];
    for (const from of view.isSource ? new Set([link.pinFrom, link.hotFrom]) : []) {
      const [file, line, column, endLine, endColumn] = from ? D.places[from] : [];
      if (file !== view.file || page.marked.includes(line - 1) || !page.rows[line - 1]) continue;
      const text = Array.from(view.lines[line - 1]);
      const begin = column - 1, end = endLine === line ? endColumn - 1 : text.length;
      if (end <= begin) continue;
      const part = (a, b) => colour(text.slice(a, b).join(''), view.language);
      page.rows[line - 1].lastChild.innerHTML =
        `${part(0, begin)}<mark>${part(begin, end)}</mark>${part(end)}`;
      page.marked.push(line - 1);
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
    const by = {ArrowRight: 1, ArrowLeft: -1}[ev.key], next = by && i >= 0 ? all[i + by] : null;
    if (!next) return;
    ev.preventDefault();
    next.focus();
    next.click();
  });
}

/* ---- tooltip: of elements with data-tip ---- */
function showTip(ev) {
  const e = ev.target.closest && ev.target.closest('[data-tip]'), tip = $('tip');
  tip.hidden = !e;
  if (!e) return;
  tip.textContent = e.dataset.tip;
  const r = tip.getBoundingClientRect(), b = e.getBoundingClientRect();
  const x = ev.clientX || b.left, y = ev.clientX ? ev.clientY : b.bottom;
  const isLow = y + 16 + r.height > innerHeight;
  tip.style.left = `${clamp(x + 12, 4, Math.max(4, innerWidth - r.width - 8))}px`;
  tip.style.top = `${isLow ? y - r.height - 10 : y + 16}px`;
}

/* ---- timeline ---- */
let tick = 6; // pixels; as wide as there is room
/* Word on the bar, colour, meaning. */
const ACTS = {
  copy: ['copy', '--copy', 'begins a copy from global to shared memory'],
  commit: ['', '--copy', 'closes a group of copies'],
  wait_copies: ['wait', '--wait', 'waits until few enough groups of copies are in flight'],
  copy_arrive: ['', '--good', 'arrives at an mbarrier when the copies so far have landed'],
  expect: ['', '--good', 'tells an mbarrier how many bytes to expect'],
  barrier_wait: ['wait', '--wait', 'waits for a phase of an mbarrier'],
  barrier_arrive: ['', '--good', 'arrives at an mbarrier'],
  dot: ['dot', '--dot', 'matrix product'],
  wait_dots: ['wait', '--wait', 'waits until few enough products are in flight'],
  sync: ['', '--sync', 'all warps of the role meet'],
  read: ['read', '--mem', 'reads shared memory'],
  write: ['write', '--mem', 'writes shared memory'],
  atomic: ['atomic', '--mem', 'changes memory atomically'],
  load: ['load', '--mem', 'loads from global memory'],
  store: ['store', '--mem', 'stores to global memory'],
  math: ['math', '--math', 'arithmetic on floats'],
};
const LEGEND = [
  ['--copy', 'copy, slot being filled'], ['--full', 'slot full'], ['--dot', 'product'],
  ['--math', 'arithmetic'], ['--mem', 'memory access'], ['--good', 'arrives at a barrier'],
  ['--sync', 'warps meet'],
];
const HATCHED = 'background:repeating-linear-gradient(135deg,var(--wait) 0 2px,' +
                'transparent 2px 5px);border-color:var(--wait)';

const shorten = (text) => text.replace(/ = .*/, '').replace(/^(.{20}).{2,}$/, '$1…');
const shortName = (b) => shorten(b.name || b.what);

function slotName([number, stage]) {
  const b = D.shared.buffers[number];
  return shortName(b) + (b.stages > 1 ? ` · stage ${stage}` : '');
}

function itemTip(i) {
  const isQueue = i.act === 'wait_copies' || i.act === 'wait_dots';
  const lines = [ACTS[i.act][2] + (i.async ? ', asynchronous' : '') +
                 (isQueue ? ` (${i.num || 0})` : '')];
  if (i.masked) lines.push('masked off: nothing is there to take');
  if (i.slots.length) lines.push(i.slots.map(slotName).join(', '));
  if (i.ready) lines.push(`blocked for ${i.ready - i.begin} of the model's ticks`);
  lines.push((i.trip ? `iteration ${i.trip}, ` : '') + `LOWERED line ${i.line}` +
             (i.from ? `, source ${where(keyOf(i.from))}` : ''));
  return lines.join('\n');
}

/* Rows of what warps do, then rows of what is in shared memory. */
function laneRows(t) {
  const rows = [];
  t.lanes.forEach((lane, n) => {
    const items = t.items.filter((i) => i.lane === n);
    const dots = items.filter((i) => i.act === 'dot' && i.async);
    const registers = lane.registers ? `, ${lane.registers} registers` : '';
    const isWhole = n === 0 && t.lanes.length > 1;
    const more = isWhole ? 'before and after' : plural(lane.warps, 'warp') + registers;
    if (items.length) rows.push({kind: 'lane', name: lane.name, more, items, height: 40});
    if (dots.length) rows.push({kind: 'dots', name: 'tensor cores', items: dots, height: 20});
  });
  return rows;
}

function slotRows(t) {
  const slots = new Map();
  for (const item of t.items) for (const slot of item.slots) {
    const key = slot.join();
    if (D.shared.buffers[slot[0]].barriers) continue;
    if (!slots.has(key))
      slots.set(key, {kind: 'slot', slot, name: slotName(slot), items: [], height: 20});
    slots.get(key).items.push(item);
  }
  return [...slots.values()].sort((a, b) => a.slot[0] - b.slot[0] || a.slot[1] - b.slot[1]);
}

function bar(item, from, to, y, height, fill, label, before = '') {
  const x = from * tick, width = Math.max((to - from) * tick - 1, 2);
  const tip = before + itemTip(item), fits = label && width > label.length * 6 + 2;
  const text = fits
    ? words(x + width / 2, y + height / 2 + 4, label, {class: 'on', 'text-anchor': 'middle'}) : '';
  const a = {class: 'it', tabindex: -1, role: 'button', 'data-act': item.act,
             'data-from': item.from, 'data-view': 'lowered', 'data-line': item.line,
             'data-tip': tip, 'aria-label': tip};
  return `<g${attrs(a)}>${rect(x, y, width, height, {rx: 2, fill})}${text}</g>`;
}

/* Where an iteration begins: its number, in words where there is room. */
function iterationMark(row, n) {
  const item = row.items[n], x = item.begin * tick;
  const next = row.items.slice(n).find((o) => (o.trip || 0) !== item.trip);
  const room = next ? (next.begin - item.begin) * tick : Infinity;
  return words(x + 2, row.y + 10, `${room > 72 ? 'iteration ' : ''}${item.trip}`, {class: 'soft'}) +
         path(`M${x - 0.5} ${row.y}v${row.height}`, {class: 'grid'});
}

function laneBars(row) {
  let trip = 0;
  return row.items.map((item, n) => {
    const [label, color] = ACTS[item.act], isWait = label === 'wait';
    const fill = isWait && item.ready ? 'url(#blocked)'
      : isWait || item.masked ? 'var(--line)' : `var(${color})`;
    const mark = item.trip && item.trip !== trip ? iterationMark(row, n) : '';
    trip = item.trip || 0;
    return mark + bar(item, item.begin, item.end, row.y + 14, 22, fill, isWait ? '' : label);
  }).join('');
}

/* A slot is being filled, then full until its last reader before the next filling. */
function slotBars(row) {
  const items = row.items.filter((i) => !i.masked).sort((a, b) => a.begin - b.begin);
  const isFill = (i) => i.act === 'copy' || i.act === 'write', fills = items.filter(isFill);
  return fills.map((f, n) => {
    const next = fills[n + 1] ? fills[n + 1].begin : Infinity, landed = f.done || f.end;
    const isReader = (i) => !isFill(i) && i.begin >= f.begin && i.begin < next;
    const readers = items.filter(isReader);
    const last = Math.max(landed, ...readers.map((i) => i.done || i.end));
    const full = last > landed ? rect(landed * tick, row.y, (last - landed) * tick - 1, 18,
                                      {rx: 2, fill: 'var(--full)'}) : '';
    const reads = readers.map((i) =>
      bar(i, i.begin, i.done || i.end, row.y + 9, 9, i.act === 'dot' ? 'var(--dot)' : 'var(--mem)',
          '', `${row.name}: is read\n`));
    return bar(f, f.begin, landed, row.y, 18, 'var(--copy)', 'filling',
               `${row.name}: is being filled\n`) + full + reads.join('');
  }).join('');
}

const dotBars = (row) => row.items.map((i) =>
  bar(i, i.done - D.timeline.dot_ticks, i.done, row.y + 1, 17, 'var(--dot)', 'wgmma')).join('');

function rowLabel(row) {
  if (row.kind === 'lane')
    return words(4, row.y + 22, row.name, {style: 'font-weight:600'}) +
           words(4, row.y + 35, row.more, {class: 'soft'});
  return row.kind === 'dots' ? words(14, row.y + 13, row.name, {class: 'soft'})
                             : words(4, row.y + 13, row.name);
}

function legend() {
  const entry = (style, text) => `<span><u style="${style}"></u>${text}</span>`;
  return fromHtml('div', {class: 'legend'},
    LEGEND.map(([color, text]) => entry(`background:var(${color})`, text)).join('') +
    entry(HATCHED, 'blocked in a wait'));
}

const BLOCKED = '<defs><pattern id="blocked" width="5" height="5" patternUnits="userSpaceOnUse" ' +
  'patternTransform="rotate(45)"><rect width="5" height="5" fill="var(--card)"/>' +
  '<rect width="2" height="5" fill="var(--wait)"/></pattern></defs>';

function timelineNote(t) {
  return `Program 0 with ${t.assumed} for every integer argument. The order, and what waits for ` +
    'what, is that of LOWERED; durations are made up (a copy lands after ' +
    `${t.landing_ticks} ticks, a wgmma takes ${t.dot_ticks}).` +
    (t.cut ? ' Only the beginning is shown.' : '') +
    (t.stuck ? ' The model does not know all that the waits depend on: it stops before the end.'
             : '');
}

function drawTimeline(root) {
  const t = D.timeline;
  if (!t.items.length) {
    root.append(note('The kernel copies, multiplies and waits for nothing: no timeline.'));
    return;
  }
  const rows = [...laneRows(t), ...slotRows(t)];
  const end = Math.max(...t.items.map((i) => Math.max(i.end, i.done || 0)));
  tick = clamp(Math.floor((root.clientWidth - 230) / end), 6, 14);
  let height = 2;
  for (const r of rows) {
    r.y = height;
    height += r.height + 3;
  }
  const width = end * tick + 20, draw = {lane: laneBars, dots: dotBars, slot: slotBars};
  const lines = rows.map((r) => path(`M0 ${r.y + r.height + 1.5}h${width}`, {class: 'grid'}));
  const bars = rows.map((r) => draw[r.kind](r));
  const chart = fromHtml('div', {class: 'chart', id: 'timeline'},
    svg(176, height, 'Rows', rows.map(rowLabel).join('')) + '<div class="scroll">' +
    svg(width, height, 'Timeline', BLOCKED + lines.join('') + bars.join('')) + '</div>');
  root.append(note(timelineNote(t)), legend(), chart);
  chart.querySelector('.it').setAttribute('tabindex', '0');
  linkElements(chart);
}

/* ---- shared memory ---- */
const bufferColour = (n) => `hsl(${(n * 67) % 360} 48% var(--tint))`;

function bufferTip(b) {
  const lines = D.shared.lines;
  return [b.name || b.what, b.type || `${b.what}, scratch memory`,
    `bytes ${b.offset}–${b.offset + b.bytes - 1}, ${kib(b.bytes)}` +
    (b.stages > 1 ? ` in ${b.stages} stages` : ''),
    `LAID lines ${lines[b.first]}–${lines[b.last]}`].join('\n');
}

/* A buffer in the map; `at` has its corner and size, x of an operation of LAID. */
function bufferShape(b, n, at, xOfLine) {
  const {x, y, w, h} = at, letters = Math.floor(w / 6.6), ink = {stroke: 'var(--ink)'};
  const border = b.scratch ? {'stroke-dasharray': '4 3', stroke: 'var(--soft)'}
                           : {stroke: 'var(--card)'};
  const parts = [rect(x, y, w, h, {rx: 2, fill: bufferColour(n), ...border})];
  for (let k = 1; k < b.stages && h > 20; k++)
    parts.push(path(`M${x} ${y + (h * k) / b.stages}h${w}`,
                    {...ink, 'stroke-opacity': 0.35, 'stroke-dasharray': '3 3'}));
  for (const line of h > 10 ? b.uses : [])
    parts.push(path(`M${xOfLine(line)} ${y + h - 7}v6`,
                    {...ink, 'stroke-opacity': 0.7, 'stroke-width': 1.5}));
  const still = {style: 'pointer-events:none'};
  if (w > 60 && h > 16)
    parts.push(words(x + 6, y + 14, (b.name || b.what).slice(0, letters), still));
  if (w > 120 && h > 32)
    parts.push(words(x + 6, y + 28, `${b.type || 'scratch'}, ${kib(b.bytes)}`.slice(0, letters),
                     {class: 'soft', ...still}));
  const a = {class: 'it', tabindex: n ? -1 : 0, role: 'button', 'data-from': b.from,
             'data-view': 'laid', 'data-line': b.line, 'data-tip': bufferTip(b),
             'aria-label': bufferTip(b)};
  return `<g${attrs(a)}>${parts.join('')}</g>`;
}

function memoryMap(width) {
  const s = D.shared, ops = s.lines.length, left = 76, right = 10, height = 210, top = 14;
  const x = (op) => left + ((width - left - right) * op) / ops;
  const y = (byte) => top + (height * byte) / s.bytes;
  const opAt = new Map(s.lines.map((line, op) => [line, op]));
  const parts = [];
  for (let k = 0; k <= 4; k++) {
    const byte = (s.bytes * k) / 4;
    parts.push(path(`M${left} ${y(byte)}H${width - right}`, {class: 'grid'}),
               words(left - 6, y(byte) + 4, kib(Math.round(byte)),
                     {class: 'soft', 'text-anchor': 'end'}));
  }
  for (let k = 0; k <= 8; k++) {
    const op = Math.min(ops - 1, Math.round((ops * k) / 8));
    const anchor = k === 8 ? 'end' : k ? 'middle' : 'start';
    parts.push(words(x(op), top + height + 18, `${k ? '' : 'LAID line '}${s.lines[op]}`,
                     {class: 'soft', 'text-anchor': anchor}));
  }
  s.buffers.forEach((b, n) => {
    const at = {x: x(b.first), y: y(b.offset), w: Math.max(x(b.last + 1) - x(b.first), 4),
                h: Math.max(y(b.offset + b.bytes) - y(b.offset), 3)};
    parts.push(bufferShape(b, n, at, (line) => x(opAt.get(line) + 0.5)));
  });
  return svg(width, top + height + 26, 'Shared memory over the program', parts.join(''),
             {id: 'memory'});
}

const degree = (a) => (a.known ? a.wavefronts / a.minimum : 0);
const degreeText = (a) =>
  !a.known ? 'not known' : degree(a) <= 1 ? 'none' : `${+degree(a).toFixed(1)}-fold`;

/* For each bank the words that lanes from `first` on ask it for: word -> lane. */
function wordsOfBanks(access, first, count) {
  const banks = Array.from({length: 32}, () => new Map());
  for (let lane = first; lane < first + count; lane++) {
    const address = access.lanes[lane];
    for (let w = Math.floor(address / 4); w * 4 < address + access.bytes; w++)
      banks[w % 32].set(w, lane);
  }
  return banks;
}

/* Lanes are served in groups; a bank gives a group one word at a time. */
function bankMap(access) {
  const group = Math.min(32, 128 / Math.max(4, access.bytes)), groups = access.lanes.length / group;
  const cell = 18, left = 78, parts = [];
  for (let g = 0; g < groups; g++) {
    const y = 16 + g * cell;
    parts.push(words(0, y + 12, `lanes ${g * group}–${(g + 1) * group - 1}`, {class: 'soft'}));
    wordsOfBanks(access, g * group, group).forEach((set, bank) => {
      const n = set.size, lanes = [...set.values()], x = left + bank * cell;
      const fill = n === 0 ? 'var(--page)' : n === 1 ? 'var(--full)'
        : `hsl(${Math.max(0, 40 - 12 * n)} 75% var(--tint))`;
      const tip = n ? `${plural(n, 'word')} for lanes ${lanes.join(', ')}` : 'not used';
      const style = {'text-anchor': 'middle', style: `font-size:${n > 9 ? 8 : 9.5}px`};
      parts.push(`<g data-tip="bank ${bank}: ${tip}">` +
        rect(x, y, cell - 1, cell - 1, {rx: 2, fill}) +
        (n ? words(x + 8.5, y + 12, n > 1 ? `${n}×` : lanes[0], style) : '') + '</g>');
    });
  }
  for (let b = 0; b < 32; b += 4) parts.push(words(left + b * cell, 11, b, {class: 'soft'}));
  return svg(left + 32 * cell, 20 + groups * cell, 'Banks', parts.join(''));
}

function accessRow(a, n) {
  const grade = !a.known ? '' : degree(a) > 1 ? 'bad' : 'good';
  const values = [a.line, `<code>${esc(a.what)}</code>`,
    a.buffer < 0 ? '' : esc(shortName(D.shared.buffers[a.buffer])), a.bytes,
    a.known ? `${a.wavefronts} of ${a.minimum}` : ''];
  const row = {class: 'row', 'data-n': n, 'data-from': a.from, 'data-view': 'lowered',
               'data-line': a.line, tabindex: 0};
  return `<tr${attrs(row)}>${values.map((v) => `<td>${v}</td>`).join('')}` +
         `<td class="${grade}">${degreeText(a)}</td></tr>`;
}

function drawAccesses(root) {
  const all = D.shared.accesses, right = make('div');
  const head = ['LOWERED', 'operation', 'buffer', 'bytes a lane', 'wavefronts', 'bank conflicts'];
  const table = fromHtml('table', {id: 'accesses'}, tableHtml(head, all.map(accessRow)));
  const show = (n) => {
    const unknown = '<p class="note">Its addresses depend on what is not known here.</p>';
    right.replaceChildren(
      make('h2', {}, `Banks of ${all[n].what}, LOWERED line ${all[n].line}`),
      fromHtml('div', {class: 'scroll', id: 'banks'},
               all[n].known ? bankMap(all[n]) : unknown));
  };
  const pick = (ev) => ev.target.closest('tr.row') && show(+ev.target.closest('tr.row').dataset.n);
  table.addEventListener('mouseover', pick);
  table.addEventListener('focusin', pick);
  const left = make('div', {}, make('h2', {}, 'Accesses by a warp'), table);
  root.append(make('div', {class: 'columns'}, left, right));
  show(all.reduce((worst, a, n) => (degree(a) > degree(all[worst]) ? n : worst), 0));
  linkElements(table);
}

function drawMemory(root) {
  const s = D.shared;
  if (!s.bytes) {
    root.append(note('The kernel takes no shared memory.'));
    return;
  }
  const size = `${s.bytes} bytes of the ${s.limit} that a block may have. `;
  if (s.buffers.length) {
    root.append(note(`${size}A rectangle is a buffer: its bytes, from the first to the last ` +
      'operation of LAID that needs it; ticks are its uses, dashed lines stages, dashed borders ' +
      'scratch memory of one operation.'));
    const map = memoryMap(Math.max(620, root.clientWidth - 34));
    const box = fromHtml('div', {class: 'scroll'}, map);
    root.append(box);
    linkElements(box);
  } else {
    root.append(note(`${size}Which buffers they are is known where a kernel is LAID, and this one ` +
      'was LOWERED from the start.'));
  }
  if (s.accesses.length) drawAccesses(root);
}

/* ---- layouts ---- */
const WRAP = 64;
const shapeOf = (l) => l.dims.map((d, i) => d * l.repeat[i]);

/* Rows are the last dimension; one dimension alone goes over several. */
function columnsOf(shape) {
  const last = shape[shape.length - 1], count = product(shape);
  if (shape.filter((d) => d > 1).length > 1) return last;
  return count % WRAP ? count : WRAP;
}

/* Warps are counted over blocks. */
const warpBits = (l) => l.num[2] + l.num[3];

/* For each element its first holder, row after row; one without copies is nowhere. */
function holders(l) {
  const rank = l.dims.length, shape = shapeOf(l), count = product(shape);
  const columns = columnsOf(shape), rows = count / columns;
  const [numReg, numLane] = l.num, numWarp = warpBits(l), repeats = product(l.repeat);
  const log = l.dims.map((d) => Math.log2(d)), after = (list, d) => list.slice(d + 1);
  const shift = log.map((_, d) => sum(after(log, d)));
  const step = l.repeat.map((_, d) => product(after(l.repeat, d)));
  const table = () => new Int32Array(count);
  const h = {rows, columns, shape, reg: table(), lane: table(), warp: table(), copies: table()};
  const image = (bits, first, n) => {
    let word = 0;
    for (let b = 0; b < n; b++) if ((bits >> b) & 1) word ^= l.col[first + b];
    return word;
  };
  const indexOf = (word, repeat) => {
    let at = 0;
    for (let d = 0; d < rank; d++) {
      const turn = Math.floor(repeat / step[d]) % l.repeat[d];
      at = at * shape[d] + ((word >> shift[d]) & (l.dims[d] - 1)) + turn * l.dims[d];
    }
    return at;
  };
  const put = (at, reg, lane, warp) => {
    if (h.copies[at]++) return;
    [h.reg[at], h.lane[at], h.warp[at]] = [reg, lane, warp];
  };
  for (let warp = 0; warp < 1 << numWarp; warp++)
    for (let lane = 0; lane < 1 << numLane; lane++) {
      const base = image(lane, numReg, numLane) ^ image(warp, numReg + numLane, numWarp);
      for (let repeat = 0; repeat < repeats; repeat++)
        for (let reg = 0; reg < 1 << numReg; reg++)
          put(indexOf(base ^ image(reg, 0, numReg), repeat), (repeat << numReg) | reg, lane, warp);
    }
  return h;
}

const darkScheme = matchMedia('(prefers-color-scheme: dark)');
const bankOf = (l, reg) => Math.floor((reg * l.bytes) / 4) % 32;

function cellColour(l, h, at, by) {
  const light = darkScheme.matches ? [52, 44, 37, 30] : [88, 80, 71, 62];
  if (!h.copies[at]) return darkScheme.matches ? '#2b2f36' : '#f4f4f4';
  if (l.shared) return `hsl(${bankOf(l, h.reg[at]) * 11.25} 62% ${light[1]}%)`;
  if (by === 'warp')
    return `hsl(${(h.warp[at] * 360) / (1 << warpBits(l))} 55% ${light[1 + (h.lane[at] & 1)]}%)`;
  if (by === 'register') {
    const share = h.reg[at] / Math.max(1, product(l.repeat) * (1 << l.num[0]) - 1);
    return `hsl(210 60% ${light[0] - (light[0] - light[3]) * share}%)`;
  }
  return `hsl(${(h.lane[at] >> 2) * 45 + 7} 62% ${light[h.lane[at] & 3]}%)`;
}

function thumbnail(canvas, l) {
  if (product(shapeOf(l)) > 1 << 16) return;
  const h = holders(l), g = canvas.getContext('2d');
  [canvas.width, canvas.height] = [Math.min(h.columns, 64), Math.min(h.rows, 24)];
  for (let r = 0; r < canvas.height; r++)
    for (let c = 0; c < canvas.width; c++) {
      g.fillStyle = cellColour(l, h, r * h.columns + c, 'lane');
      g.fillRect(c, r, 1, 1);
    }
}

/* How the accesses of the buffers of this layout fare. */
function conflictWords(l) {
  const isOf = (a) => a.buffer >= 0 && D.layouts[D.shared.buffers[a.buffer].layout] === l;
  const words = (a) => (!a.known ? 'banks not known'
    : degree(a) > 1 ? `${degreeText(a)} bank conflicts` : 'no bank conflicts');
  return D.shared.accesses.filter((a) => l.shared && isOf(a)).map((a) =>
    make('span', {class: degree(a) > 1 ? 'bad' : ''},
         `${a.what} (LOWERED line ${a.line}): ${words(a)}. `));
}

/* Leads to the line of LAID that defines the value. */
function valueChip([name, type, line]) {
  const go = () => {
    const from = viewOf('laid').from[line - 1], key = keyOf(from);
    stagePane().show('laid');
    if (key && link.pin !== key) pin(key, from, null);
    stagePane().revealLine(line - 1);
    keepAddress();
  };
  return make('button', {type: 'button', title: `${type}, LAID line ${line}`, onclick: go},
              `%${name}`);
}

class LayoutPicture {
  constructor(root) {
    this.by = 'lane';
    this.zoom = 0;
    this.canvas = make('canvas', {tabindex: '0', role: 'img'});
    this.scroll = make('div', {class: 'scroll'}, this.canvas);
    this.at = make('p', {class: 'at', 'aria-live': 'polite'});
    this.title = make('h2', {id: 'layout-name'});
    this.controls = make('div', {class: 'controls'});
    this.accesses = make('p', {class: 'note'});
    this.text = make('p', {class: 'mono note', style: 'overflow-wrap:anywhere'});
    this.chips = make('div', {class: 'chips'});
    root.append(this.title, this.controls, this.scroll, this.at, this.accesses, this.text,
                this.chips);
    const cellOf = (offset) => Math.floor(offset / this.cell);
    this.canvas.addEventListener('mousemove', (ev) =>
      this.point(cellOf(ev.offsetY), cellOf(ev.offsetX)));
    this.canvas.addEventListener('mouseleave', () => this.draw());
    this.canvas.addEventListener('keydown', (ev) => this.key(ev));
    darkScheme.addEventListener('change', () => this.canvas.isConnected && this.draw());
  }

  show(l) {
    this.layout = l;
    this.h = holders(l);
    this.cursor = [0, 0];
    this.title.textContent = `${l.name} · ${l.uses.length ? l.uses[0][1] : shapeOf(l).join('×')}`;
    this.text.textContent = l.text;
    this.at.textContent = '';
    this.canvas.setAttribute('aria-label', `Layout ${l.name}: who holds an element; arrow keys`);
    this.accesses.replaceChildren(...conflictWords(l));
    this.chips.replaceChildren(...l.uses.map(valueChip));
    this.buttons();
    this.draw();
  }

  buttons() {
    const button = (text, go, a) => make('button', {type: 'button', ...a,
      onclick: () => { go(); this.buttons(); this.draw(); }}, text);
    const by = (what) => button(what, () => { this.by = what; },
                                {'aria-pressed': String(this.by === what)});
    const kinds = this.layout.shared ? ['Colour: bank of shared memory']
      : ['Colour:', by('lane'), by('warp'), by('register')];
    this.controls.replaceChildren(...kinds,
      button('−', () => { this.zoom--; }, {'aria-label': 'smaller'}),
      button('+', () => { this.zoom++; }, {'aria-label': 'larger'}));
  }

  key(ev) {
    const by = {ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1]};
    if (!by[ev.key]) return;
    ev.preventDefault();
    this.point(clamp(this.cursor[0] + by[ev.key][0], 0, this.h.rows - 1),
               clamp(this.cursor[1] + by[ev.key][1], 0, this.h.columns - 1));
  }

  /* Cells as wide as there is room, on a canvas of at most 16000 pixels. */
  resize() {
    const {h, canvas} = this, room = Math.max(260, this.scroll.parentElement.clientWidth - 6);
    const fitting = clamp(Math.floor(room / Math.min(h.columns, 128)), 2, 34);
    const cell = clamp(Math.round(fitting * 1.5 ** this.zoom), 2, 48);
    const scale = devicePixelRatio || 1, most = Math.floor(16000 / (cell * scale));
    const rows = Math.min(h.rows, most), columns = Math.min(h.columns, most);
    [canvas.width, canvas.height] = [columns * cell * scale, rows * cell * scale];
    canvas.style.width = `${columns * cell}px`;
    canvas.style.height = `${rows * cell}px`;
    this.cell = cell;
    return {rows, columns, scale};
  }

  /* Elements that isLit does not take are pale. */
  draw(isLit) {
    const {layout: l, h} = this, {rows, columns, scale} = this.resize(), s = this.cell;
    const g = this.canvas.getContext('2d'), gap = s > 5 ? 1 : 0;
    const ink = darkScheme.matches ? '#fff' : '#1c2330';
    g.scale(scale, scale);
    g.font = `${Math.min(11, s * 0.42)}px sans-serif`;
    g.textAlign = 'center';
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < columns; c++) {
        const at = r * h.columns + c;
        g.globalAlpha = isLit && !isLit(at) ? 0.25 : 1;
        g.fillStyle = cellColour(l, h, at, this.by);
        g.fillRect(c * s, r * s, s - gap, s - gap);
        g.fillStyle = ink;
        if (s >= 22) this.label(g, at, (c + 0.5) * s, r * s);
      }
    g.globalAlpha = 1;
    g.fillStyle = ink;
    if (!l.shared) this.warpLines(g, rows, columns);
  }

  label(g, at, x, y) {
    const {layout: l, h, cell: s} = this;
    if (l.shared || !h.copies[at]) {
      g.fillText(h.copies[at] ? bankOf(l, h.reg[at]) : '–', x, y + s * 0.6);
      return;
    }
    g.fillText(`t${h.lane[at]}`, x, y + s * 0.46);
    g.fillText(`r${h.reg[at]}`, x, y + s * 0.86);
  }

  warpLines(g, rows, columns) {
    const {h, cell: s} = this, w = h.columns;
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < columns; c++) {
        const at = r * w + c, warp = h.warp[at];
        if (r + 1 < rows && warp !== h.warp[at + w]) g.fillRect(c * s, (r + 1) * s - 1, s, 1.5);
        if (c + 1 < columns && warp !== h.warp[at + 1]) g.fillRect((c + 1) * s - 1, r * s, 1.5, s);
      }
  }

  /* All that the thread under the pointer holds; of shared memory, all in its bank. */
  point(row, column) {
    const {layout: l, h} = this, index = [];
    if (row < 0 || column < 0 || row >= h.rows || column >= h.columns) return;
    this.cursor = [row, column];
    const at = row * h.columns + column;
    for (let d = h.shape.length - 1, left = at; d >= 0; left = Math.floor(left / h.shape[d--]))
      index.unshift(left % h.shape[d]);
    const bank = bankOf(l, h.reg[at]);
    const copies = h.copies[at] > 1
      ? `; ${h.copies[at]} threads or registers hold it, the first is shown` : '';
    this.at.textContent = `[${index.join(', ')}]: ` + (!h.copies[at] ? 'nowhere' : l.shared
      ? `byte ${h.reg[at] * l.bytes} of a stage, bank ${bank}`
      : `warp ${h.warp[at]}, lane ${h.lane[at]}, register ${h.reg[at]}${copies}`);
    if (!h.copies[at]) this.draw();
    else this.draw(l.shared ? (k) => bankOf(l, h.reg[k]) === bank
                       : (k) => h.warp[k] === h.warp[at] && h.lane[k] === h.lane[at]);
  }
}

/* Two-dimensional ones first, by how many values have them. */
const weight = (l) => (l.dims.filter((d) => d > 1).length > 1 ? 1e6 : 0) + l.uses.length;

function layoutCard(l, show) {
  const canvas = make('canvas', {'aria-hidden': 'true'});
  const kind = l.shared ? 'shared' : plural(1 << warpBits(l), 'warp');
  thumbnail(canvas, l);
  return make('button', {type: 'button', class: 'card', 'data-name': l.name,
    'aria-pressed': 'false', onclick: () => show(l)}, canvas, make('b', {}, l.name),
    ` ${shapeOf(l).join('×')}`, make('span', {}, `${kind}, ${plural(l.uses.length, 'value')}`));
}

function drawLayouts(root) {
  const sorted = [...D.layouts].sort((a, b) => weight(b) - weight(a));
  if (!sorted.length) {
    root.append(note('No value of this kernel is a tile.'));
    return;
  }
  const cards = make('div', {class: 'cards', id: 'cards'}), side = make('div', {class: 'picture'});
  root.append(make('div', {class: 'layouts'}, cards, side));
  const picture = new LayoutPicture(side);
  const show = (l) => {
    panel.layout = l.name;
    for (const c of cards.children)
      c.setAttribute('aria-pressed', String(c.dataset.name === l.name));
    picture.show(l);
  };
  cards.append(...sorted.map((l) => layoutCard(l, show)));
  show(sorted.find((l) => l.name === panel.layout) || sorted[0]);
}

/* ---- lists ---- */
function remarkRow(r) {
  const more = [...r.notes, r.help].filter(Boolean).map((text) => make('li', {}, text));
  return make('div', {class: 'remark', 'data-from': r.from, tabindex: '0', role: 'button'},
    make('span', {class: `mono ${r.severity === 'remark' ? '' : 'warn'}`}, r.code),
    make('span', {class: 'note', style: 'margin:0'}, r.from ? where(keyOf(r.from)) : ''),
    make('div', {}, r.text, ...(more.length ? [make('ul', {}, ...more)] : [])));
}

function drawRemarks(root) {
  const list = make('div', {id: 'remarks'}, ...D.remarks.map(remarkRow));
  if (!D.remarks.length) list.append(note('The compiler has nothing to say about this kernel.'));
  root.append(list);
  linkElements(list);
}

function drawKernel(root) {
  const known = (p) => (p.value !== null ? `= ${p.value}`
    : p.divisible > 1 ? `divisible by ${p.divisible}` : '');
  const code = (text) => `<code>${esc(text)}</code>`;
  const params = D.facts.params.map((p) =>
    cells('td', [code(p.name), code(p.type), esc(known(p))]));
  const sizes = stages.map((v) => cells('td', [v.title, v.lines.length,
    v.keys.filter(Boolean).length]));
  root.append(make('div', {class: 'columns'},
    fromHtml('table', {id: 'params'},
             tableHtml(['parameter', 'type', 'known when compiled'], params)),
    fromHtml('table', {}, tableHtml(['stage', 'lines', 'with a source line'], sizes))));
}

/* ---- start ---- */
const panes = []; // the sources, where there are any, and the stages
const stagePane = () => panes[panes.length - 1];

const panel = {
  now: '',
  layout: '', // the one that its panel shows
  all: {
    pipeline: ['Pipeline', drawTimeline], memory: ['Shared memory', drawMemory],
    layouts: ['Layouts', drawLayouts], remarks: [`Remarks (${D.remarks.length})`, drawRemarks],
    kernel: ['Kernel', drawKernel],
  },
  show(id) {
    const [title, draw] = this.all[id];
    this.now = id;
    selectTab($('tabs'), id);
    $('panel').replaceChildren();
    $('panel').setAttribute('aria-label', title);
    $('panel').scrollTop = 0;
    hover(0, 0);
    draw($('panel'));
    keepAddress();
  },
  showLayout(name) {
    this.layout = name;
    this.show('layouts');
  },
};

function occupancyWords(o) {
  const share = Math.round((100 * o.warps) / o.of);
  return `${plural(o.blocks, 'block')} <small>· ${o.warps} of ${o.of} warps (${share} %), by ` +
         `${esc(o.limit)}</small>`;
}

function statistics(f) {
  const small = (text) => `<small>${text}</small>`, hasPtxas = f.registers !== undefined;
  const spills = f.spill_stores + f.spill_loads;
  const spillWords = spills ? `<span class="bad">${kib(spills)}</span>`
    : '<span class="good">none</span>';
  return [
    ['Warps', f.warps + (f.extra_warps ? ` ${small(`+ ${f.extra_warps} for other roles`)}` : '')],
    ['Stages', f.stages],
    ['Shared memory', f.shared ? `${kib(f.shared)} ${small(`of ${kib(D.shared.limit)}`)}` : 'none'],
    ['Registers', hasPtxas ? `${f.registers} ${small('a thread')}` : small('not known')],
    ...(hasPtxas ? [['Spills', spillWords]] : []),
    ...(f.occupancy ? [['Occupancy', occupancyWords(f.occupancy)]] : []),
  ];
}

function drawHeader() {
  const f = D.facts, key = keyOf(f.from);
  document.title = `${f.kernel} – tilec view`;
  $('kernel').textContent = f.kernel;
  $('about').textContent = [
    key ? `${D.sources[fileOf(key)].name}:${key % FILE}` : '', f.arch,
    f.grid ? `grid ${f.grid}` : '', f.producer].filter(Boolean).join(' · ');
  $('about').title = $('about').textContent;
  $('stats').innerHTML =
    statistics(f).map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('');
}

/* The border between code and panels moves by pointer and by keys. */
function makeResizable() {
  const main = document.querySelector('main'), split = $('split');
  const set = (share) => {
    $('panes').style.flex = `0 0 ${clamp(share, 15, 85)}%`;
    $('drawer').style.flex = '1 1 0';
  };
  const now = () => (100 * $('panes').offsetHeight) / main.offsetHeight;
  split.addEventListener('pointerdown', (ev) => split.setPointerCapture(ev.pointerId));
  split.addEventListener('pointermove', (ev) => {
    const box = main.getBoundingClientRect();
    if (ev.buttons) set((100 * (ev.clientY - box.top)) / box.height);
  });
  split.addEventListener('keydown', (ev) => {
    const by = {ArrowDown: 4, ArrowUp: -4}[ev.key];
    if (!by) return;
    ev.preventDefault();
    set(now() + by);
  });
}

function makePanes(asked) {
  const sources = views.filter((v) => v.isSource).map((v) => v.id), ids = stages.map((v) => v.id);
  const first = viewOf('laid').lines.length ? 'laid' : 'lowered';
  if (sources.length) panes.push(new Pane($('panes'), sources, 'source'));
  panes.push(new Pane($('panes'), ids, ids.includes(asked) ? asked : first));
}

/* "63" or, of another file than the kernel's, "1:63". */
function keyOfAddress(text) {
  const parts = (text || '0').split(':').map(Number);
  return parts.length > 1 ? parts[0] * FILE + parts[1] : parts[0];
}

/* A page begins with the kernel, not with what its file and the stage's text have before it. */
function showKernel() {
  const at = keyOf(D.facts.from), code = stagePane();
  if (panes.length > 1 && at && fileOf(at) === 0) panes[0].revealLine(at % FILE - 1);
  code.revealLine(code.view.lines.findIndex((l) => l.startsWith('func ')));
}

function start() {
  const asked = new URLSearchParams(location.hash.slice(1));
  drawHeader();
  makePanes(asked.get('code'));
  for (const [id, [title]] of Object.entries(panel.all))
    $('tabs').append(make('button', {type: 'button', role: 'tab', 'data-id': id,
      onclick: () => panel.show(id)}, title));
  tabKeys($('tabs'));
  panel.layout = asked.get('layout') || '';
  panel.show(Object.hasOwn(panel.all, asked.get('panel')) ? asked.get('panel') : 'pipeline');
  const key = keyOfAddress(asked.get('line'));
  if (linkedKeys.has(key)) pin(key, 0, null);
  else showKernel();
  document.addEventListener('mouseover', showTip);
  document.addEventListener('focusin', showTip);
  document.addEventListener('keydown', (ev) => {
    if (ev.key !== 'Escape') return;
    $('tip').hidden = true;
    if (link.pin) pin(link.pin, link.pinFrom, null);
  });
  makeResizable();
}
start();
})();
