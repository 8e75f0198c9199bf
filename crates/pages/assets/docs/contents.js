// The list of contents beside the text: marks what is being read, and leads there after a reload.

/** Marks the link of the section that is at the top of the window. */
export function followReader(contents) {
  const links = new Map([...contents.querySelectorAll('a')].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const link = links.get(target.id);
      if (isIntersecting) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }, { rootMargin: '-15% 0px -80% 0px' });
  for (const id of links.keys()) watcher.observe(document.getElementById(id));
  // The browser looked for the section of the address before it was there.
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
