// Short words about what was done, told to screen readers too.
import { byId, el } from './dom.js';

const lasts = 6000; // ms
const most = 3;

// toast says text; undo, if given, is offered as a button.
export function toast(text, undo) {
  const host = byId('toasts');
  const word = el('p', { class: 'toast' }, el('span', { text }));
  const end = () => word.remove();
  if (undo) word.append(el('button', { type: 'button', class: 'plain', text: 'Undo', on: { click: () => { end(); undo(); } } }));
  host.append(word);
  while (host.children.length > most) host.firstChild.remove();
  const timer = () => setTimeout(() => (word.matches(':hover, :focus-within') ? timer() : end()), lasts);
  timer();
}
