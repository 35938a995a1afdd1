// Asks the person for the admin token.
import { byId, setText } from './dom.js';

let pending = null;

// askToken returns what was typed, or null. A second caller while the dialog is open gets the same answer.
export function askToken(why) {
  pending ??= question(why).finally(() => { pending = null; });
  return pending;
}

function question(why) {
  const dialog = byId('token');
  const text = byId('token-text');
  setText(byId('token-why'), why);
  text.value = '';
  dialog.returnValue = '';
  dialog.showModal();
  text.focus();
  return new Promise((resolve) => {
    const done = () => {
      const typed = dialog.returnValue === 'given' ? text.value.trim() : null;
      text.value = '';
      resolve(typed);
    };
    dialog.addEventListener('close', done, { once: true });
  });
}

// wireToken gives the dialog its buttons.
export function wireToken() {
  byId('token-cancel').addEventListener('click', () => byId('token').close(''));
  byId('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    byId('token').close('given');
  });
}
