// Rows of a table that can be clicked as a whole, and walked by the arrow keys.

// clickable calls open(item) for a click anywhere in a row of body but on its buttons and links, or while text is selected. The
// arrow keys move the focus from a row to the same control of the row above or below.
export function clickable(body, open) {
  body.addEventListener('click', (event) => {
    const row = event.target.closest('tr');
    if (!row?.item || event.target.closest('button, a') || !getSelection().isCollapsed) return;
    open(row.item);
  });
  body.addEventListener('keydown', (event) => {
    const to = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
    const cell = event.target.closest('td');
    const next = to && cell?.parentNode[to]?.cells[cell.cellIndex]?.querySelector('button, a');
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}
