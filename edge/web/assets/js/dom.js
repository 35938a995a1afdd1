// A few ways to make and change elements. Text enters the page by textContent alone, so that a key that looks like markup stays
// text.

export const byId = (id) => document.getElementById(id);

// el makes an element. props: class, title, type, href and other attributes; text; on, an object of listeners.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') node.textContent = value;
    else if (name === 'on') for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

// setText changes node's text if it differs: what did not change is not laid out again.
export function setText(node, text) {
  const now = text === null || text === undefined ? '' : String(text);
  if (node.textContent !== now) node.textContent = now;
}

// setAttr sets or, with null, removes an attribute.
export function setAttr(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

// setVar sets a CSS variable of node, through the CSSOM.
export function setVar(node, name, value) {
  if (node.style.getPropertyValue(name) !== String(value)) node.style.setProperty(name, value);
}

// keyed makes the children of parent those of items, in their order: it keeps the node an item had, so that focus, hover and
// selection stay. make(item) makes a node, update(node, item) fills it. What a node has in its property below stays behind it.
export function keyed(parent, items, { key, make, update }) {
  const had = parent.keyedNodes ?? new Map();
  const has = new Map();
  let at = parent.firstElementChild;
  for (const item of items) {
    let id = key(item);
    while (has.has(id)) id += ' '; // two of a name are two rows
    let node = had.get(id);
    had.delete(id);
    if (!node) node = make(item);
    has.set(id, node);
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
    if (node.below && node.below === at) at = at.nextElementSibling;
    else if (node.below) node.after(node.below);
    update(node, item);
  }
  for (const node of had.values()) {
    node.below?.remove();
    node.remove();
  }
  parent.keyedNodes = has;
}

// options makes the options of select those of values, and keeps what is chosen if it is still there.
export function options(select, values, first) {
  const wanted = (first === undefined ? [] : [['', first]]).concat(values.map((v) => [v, v]));
  const same = select.options.length === wanted.length && wanted.every(([v], n) => select.options[n].value === v);
  if (same) return;
  const chosen = select.value;
  select.replaceChildren(...wanted.map(([value, text]) => el('option', { value, text })));
  if (wanted.some(([v]) => v === chosen)) select.value = chosen;
}
