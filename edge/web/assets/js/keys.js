// Keyboard shortcuts. They do nothing while something is being typed or a dialog is open.
import { byId, setText } from './dom.js';

// wireKeys wires them, and the button of the theme.
export function wireKeys(hand) {
  const focus = (id) => () => {
    byId(id).focus();
    byId(id).scrollIntoView({ block: 'nearest' });
  };
  const nextTheme = () => document.dispatchEvent(new Event('next-theme'));
  const does = { '/': focus('mitigations-filter'), e: focus('explain-key'), b: () => hand.open(), t: nextTheme };
  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest('input, select, textarea, dialog');
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !does[event.key]) return;
    event.preventDefault();
    does[event.key]();
  });
  byId('theme').addEventListener('click', nextTheme);
  const name = () => setText(byId('theme-name'), document.documentElement.dataset.theme);
  document.addEventListener('theme', name);
  name();
}
