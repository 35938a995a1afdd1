// Short messages about what was done, read out by screen readers too.
import { byId, el } from './dom.js';

const toastLasts = 6000; // ms
const mostToasts = 3;

// toast shows text; undo, if given, is offered as a button.
export function toast(text, undo) {
  const host = byId('toasts');
  const message = el('p', { class: 'toast' }, el('span', { text }));
  const end = () => message.remove();
  if (undo) message.append(el('button', { type: 'button', class: 'plain', text: 'Undo', on: { click: () => { end(); undo(); } } }));
  host.append(message);
  while (host.children.length > mostToasts) host.firstChild.remove();
  const timer = () => setTimeout(() => (message.matches(':hover, :focus-within') ? timer() : end()), toastLasts);
  timer();
}
