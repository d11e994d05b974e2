// Runs before the first paint: puts the chosen theme and language on <html>, so that nothing flashes.
(() => {
  const root = document.documentElement;
  let theme = 'auto';
  try {
    theme = localStorage.getItem('klamm.theme') || 'auto';
  } catch {
    // Storage is switched off: the system's theme it is.
  }
  if (theme !== 'light' && theme !== 'dark') {
    theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  }
  root.setAttribute('data-mantine-color-scheme', theme);
})();
