// Sets the theme before anything is painted. It is the one script that is no module: modules run too late for that.
(() => {
  const order = ['system', 'light', 'dark'];
  const stored = () => {
    try { return localStorage.getItem('headgate-theme'); } catch { return null; } // storage may be forbidden
  };
  const put = (name) => {
    document.documentElement.dataset.theme = name;
    document.dispatchEvent(new Event('theme'));
  };
  let now = order.includes(stored()) ? stored() : 'system';
  put(now);
  document.addEventListener('next-theme', () => {
    now = order[(order.indexOf(now) + 1) % order.length];
    try { localStorage.setItem('headgate-theme', now); } catch { /* it lasts until the page is closed */ }
    put(now);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => put(now));
})();
