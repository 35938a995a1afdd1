// Server-sent events out of pieces of text, as the HTML standard has them. EventSource would do it, but sends no header, and so
// no token.

const mostWaiting = 4 << 20; // characters of an event; what is longer is not one of ours

// reader returns a function that takes pieces of text and calls took(name, data) for every event that is whole.
export function reader(took) {
  let rest = '';
  let name = '';
  let data = [];
  const line = (text) => {
    if (text === '') {
      if (data.length) took(name || 'message', data.join('\n'));
      name = '';
      data = [];
      return;
    }
    if (text.startsWith(':')) return;
    const colon = text.indexOf(':');
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') name = value;
    else if (field === 'data') data.push(value);
  };
  return (piece) => {
    rest += piece;
    if (rest.length > mostWaiting) throw new Error('the stream sent an event without end');
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    lines.forEach(line);
  };
}
